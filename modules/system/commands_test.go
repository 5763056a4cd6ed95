package system

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

func start(t *testing.T, c modules.Command) (modules.Exit, error) {
	t.Helper()
	exit, err := New().Commands.Run(t.Context(), c)
	exit.Elapsed = 0
	return exit, err
}

func sh(script string) modules.Command {
	return modules.Command{Argv: []string{"/bin/sh", "-c", script}}
}

func TestRun(t *testing.T) {
	exit, err := start(t, sh("echo out; echo err >&2; pwd; exit 7"))
	require.NoError(t, err)
	require.Equal(t, modules.Exit{
		Code:   7,
		Stdout: modules.Output{Text: "out\n/\n"},
		Stderr: modules.Output{Text: "err\n"},
	}, exit)
}

func TestRunReadsNothing(t *testing.T) {
	exit, err := start(t, sh("cat"))
	require.NoError(t, err)
	require.Equal(t, modules.Exit{}, exit)
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET", "of the program itself")
	c := modules.Command{Argv: []string{"env"}, Env: []string{"B=1"}}
	exit, err := start(t, c)
	require.NoError(t, err)
	require.Equal(t, "PATH="+modules.DefaultPath+"\nLANG=C\nLC_ALL=C\nB=1\n", exit.Stdout.Text)
}

// TestHome expects the environment of a login of the own user, which the command's own environment overrides.
func TestHome(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	t.Setenv("HOME", "/of/the/program/itself")
	exit, err := start(t, modules.Command{Argv: []string{"sh", "-c", `echo "$HOME $USER $LOGNAME"; test -x "$SHELL"; pwd; echo ~`}, Home: true})
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{me.HomeDir, me.Username, me.Username}, " ")+"\n/\n"+me.HomeDir+"\n", exit.Stdout.Text)
	require.Zero(t, exit.Code)

	exit, err = start(t, modules.Command{Argv: []string{"sh", "-c", `echo "$HOME $USER"`}, Home: true, Env: []string{"HOME=/srv"}})
	require.NoError(t, err)
	require.Equal(t, "/srv "+me.Username+"\n", exit.Stdout.Text)
	require.Equal(t, []string{"HOME=/", "USER=4711", "LOGNAME=4711", "SHELL=/bin/sh"}, account{name: "4711"}.environment())
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(data, []byte("x"), 0o644))
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/no/interpreter\n"), 0o755))
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.Mkdir(closed, 0))
	for _, test := range []struct {
		name string
		c    modules.Command
		want string
		is   error
	}{
		{"nothing", modules.Command{}, "no command specified", nil},
		{"not in the path", modules.Command{Argv: []string{"sh"}, Path: "/nowhere:/etc"}, `"sh" is not found in /nowhere:/etc`, fs.ErrNotExist},
		{"not executable in the path", modules.Command{Argv: []string{"data"}, Path: dir}, `"` + data + `" cannot be started: not executable: permission denied`, fs.ErrPermission},
		{"in a directory that may not be searched", modules.Command{Argv: []string{"sh"}, Path: closed}, `"sh" is not found in ` + closed, fs.ErrNotExist},
		{"not there", modules.Command{Argv: []string{"/no/such"}}, `"/no/such" cannot be started: no such file or directory`, fs.ErrNotExist},
		{"not executable", modules.Command{Argv: []string{"./data"}, Dir: dir}, `"./data" cannot be started: not executable: permission denied`, fs.ErrPermission},
		{"a directory", modules.Command{Argv: []string{dir}}, `"` + dir + `" cannot be started: is a directory`, syscall.EISDIR},
		{"no interpreter", modules.Command{Argv: []string{script}}, `"` + script + `" cannot be started: no such file or directory`, fs.ErrNotExist},
		{"no directory", modules.Command{Argv: []string{"true"}, Dir: "/no/such"}, `working directory "/no/such": no such file or directory`, fs.ErrNotExist},
		{"directory is a file", modules.Command{Argv: []string{"true"}, Dir: data}, `working directory "` + data + `": not a directory`, syscall.ENOTDIR},
		{"no such user", modules.Command{Argv: []string{"true"}, User: "no-such-user"}, `user "no-such-user": no such account`, modules.ErrNoAccount},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := start(t, test.c)
			require.EqualError(t, err, test.want)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	c := sh("exec sleep 60")
	c.Timeout = 20 * time.Millisecond
	exit, err := start(t, c)
	require.ErrorIs(t, err, modules.ErrTimeout)
	require.EqualError(t, err, `"/bin/sh" timed out after 20ms and was killed`)
	require.Equal(t, 137, exit.Code)
}

func TestCancelBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the operator said stop")
	cancel(cause)
	_, err := New().Commands.Run(ctx, sh("true"))
	require.ErrorIs(t, err, cause)
}

func TestDaemonDoesNotHoldTheRun(t *testing.T) {
	exit, err := start(t, sh("sleep 60 & echo $!"))
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	pid, err := strconv.Atoi(strings.TrimSpace(exit.Stdout.Text))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL), "it is left running")
}

func TestOutputIsBounded(t *testing.T) {
	exit, err := start(t, sh("echo begin; head -c 100000 /dev/zero; echo; echo the error; head -c 10 /dev/zero >&2"))
	require.NoError(t, err)
	mark := excerpt.Mark(exit.Stdout.Dropped, "byte")
	require.Len(t, exit.Stdout.Text, modules.MaxOutput+len(mark))
	require.EqualValues(t, 100017-modules.MaxOutput, exit.Stdout.Dropped)
	require.True(t, strings.HasPrefix(exit.Stdout.Text, "begin\n"))
	require.Contains(t, exit.Stdout.Text, mark)
	require.True(t, strings.HasSuffix(exit.Stdout.Text, "\x00\nthe error\n"))
	require.Len(t, exit.Stderr.Text, 10)
}

func TestOutputBoundOfACommand(t *testing.T) {
	c := sh("head -c 100000 /dev/zero; head -c 70001 /dev/zero >&2")
	c.MaxOutput = 70_000
	exit, err := start(t, c)
	require.NoError(t, err)
	require.Len(t, exit.Stdout.Text, 70_000+len(excerpt.Mark(30_000, "byte")))
	require.EqualValues(t, 30_000, exit.Stdout.Dropped)
	require.EqualValues(t, 1, exit.Stderr.Dropped)
}

func TestOutputLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, test := range []struct {
		name   string
		writes []string
		want   []string
	}{
		{"nothing", nil, nil},
		{"lines", []string{"a\nb\n"}, []string{"a", "b"}},
		{"in pieces", []string{"a", "b\nc", "\n"}, []string{"ab", "c"}},
		{"no newline at the end", []string{"a\nb"}, []string{"a", "b"}},
		{"carriage returns", []string{"a\r\n", "b\r\n"}, []string{"a", "b"}},
		{"empty lines", []string{"\n\n"}, []string{"", ""}},
		{"as long as may be", []string{long, "\n"}, []string{long}},
		{"too long", []string{"b" + long + "y", "zze\nb\n"}, []string{"b" + long[:maxLine/2-1] + "[… 5 bytes left out …]" + long[:maxLine/2-4] + "yzze", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lines []string
			o := newOutput(0, func(line string) { lines = append(lines, line) })
			for _, w := range test.writes {
				n, err := o.Write([]byte(w))
				require.NoError(t, err)
				require.Equal(t, len(w), n)
			}
			o.end()
			require.Equal(t, test.want, lines)
			require.Equal(t, strings.Join(test.writes, ""), o.output().Text)
		})
	}
}

func TestStdin(t *testing.T) {
	h := New()
	exit, err := h.Commands.Run(t.Context(), modules.Command{Argv: []string{"cat"}, Stdin: "pass\n"})
	require.NoError(t, err)
	require.Equal(t, "pass\n", exit.Stdout.Text)
	// A program may ignore its standard input.
	exit, err = h.Commands.Run(t.Context(), modules.Command{Argv: []string{"true"}, Stdin: strings.Repeat("x", 1<<20)})
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	exit, err = h.Commands.Probe(t.Context(), modules.Command{Argv: []string{"wc", "-c"}})
	require.NoError(t, err)
	require.Equal(t, "0", strings.TrimSpace(exit.Stdout.Text))
}
