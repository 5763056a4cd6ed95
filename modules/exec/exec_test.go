package exec_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestConverges(t *testing.T) {
	done := modtest.Node{Path: "done"}
	modtest.Converges(t, exec.Type(), []modtest.Fixture{
		{Name: "no guard", Properties: `{"name":"touch $ROOT/f"}`, Action: "executed"},
		{Name: "name is only a name", Properties: `{"name":"make f","command":"touch $ROOT/f"}`, Action: "executed"},
		{Name: "words are quoted as in a shell", Properties: `{"name":"touch '$ROOT/a b' $ROOT/c\\ d \"$ROOT/$HOME\""}`, Action: "executed"},
		{Name: "a shell", Properties: `{"name":"cd $ROOT && echo hi > f","provider":"shell"}`, Action: "executed"},
		{Name: "cwd", Properties: `{"name":"touch f","cwd":"$ROOT"}`, Action: "executed"},
		{Name: "creates", Properties: `{"name":"touch $ROOT/done","creates":"$ROOT/done"}`, Action: "executed"},
		{Name: "creates excuses any exit code", Properties: `{"name":"touch $ROOT/done; exit 9","provider":"shell","creates":"$ROOT/done"}`, Action: "executed"},
		{Name: "created", Tree: []modtest.Node{done}, Properties: `{"name":"false","creates":"$ROOT/done"}`},
		{Name: "created, a link", Tree: []modtest.Node{done, {Path: "l", Link: "done"}}, Properties: `{"name":"false","creates":"$ROOT/l"}`},
		{Name: "created, a link to nothing", Tree: []modtest.Node{{Path: "l", Link: "done"}}, Properties: `{"name":"touch $ROOT/f","creates":"$ROOT/l"}`, Action: "executed"},
		{Name: "creates below a file", Tree: []modtest.Node{done}, Properties: `{"name":"cd $ROOT && rm done && mkdir done && touch done/x","provider":"shell","creates":"$ROOT/done/x"}`, Action: "executed"},
		{Name: "onlyif says yes", Properties: `{"name":"touch $ROOT/f","onlyif":"true"}`, Action: "executed"},
		{Name: "onlyif says no", Properties: `{"name":"false","onlyif":"false"}`},
		{Name: "unless says no", Properties: `{"name":"touch $ROOT/f","unless":"false"}`, Action: "executed"},
		{Name: "unless says yes", Properties: `{"name":"false","unless":"true"}`},
		{Name: "guards through a shell", Properties: `{"name":"false","provider":"shell","unless":"test 1 = 1 && true"}`},
		{Name: "guards know cwd and environment", Properties: `{"name":"false","provider":"shell","cwd":"$ROOT","environment":["A=b"],"unless":"test \"$PWD$A\" = \"$ROOT\"b"}`},
		{Name: "refreshes only", Properties: `{"name":"false","refreshonly":true}`},
		{Name: "refreshes only, other spelling", Properties: `{"name":"false","refresh_only":true}`},
		{Name: "absent means nothing", Properties: `{"name":"touch $ROOT/f","ensure":"absent"}`, Action: "executed"},
		{Name: "other codes", Properties: `{"name":"exit 3","provider":"shell","returns":[0,3]}`, Action: "executed"},
		{
			Name: "a guard that cannot start", Tree: []modtest.Node{done},
			Properties: `{"name":"true","creates":"$ROOT/done","unless":"no-such-program"}`,
			Err:        `unless: "no-such-program" is not found in /usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin`,
		},
		{
			Name:       "a user who is not there",
			Properties: `{"name":"touch $ROOT/f","user":"nobody-at-all"}`,
			Err:        `user: user "nobody-at-all": no such account`,
		},
		{
			Name: "no directory", Properties: `{"name":"true","cwd":"$ROOT/d"}`,
			Err: `cwd: the directory "$ROOT/d" does not exist (create it with a file resource that has ensure: directory)`,
		},
		{
			Name: "no directory, but a file", Tree: []modtest.Node{done}, Properties: `{"name":"true","cwd":"$ROOT/done"}`,
			Err: `cwd: "$ROOT/done": not a directory`,
		},
		{Name: "no directory, and none is needed", Tree: []modtest.Node{done}, Properties: `{"name":"false","cwd":"$ROOT/d","creates":"$ROOT/done"}`},
		{Name: "a user who is not there and is not needed", Tree: []modtest.Node{done}, Properties: `{"name":"false","user":"nobody-at-all","creates":"$ROOT/done"}`},
		{
			Name:       "a guard that takes too long",
			Properties: `{"name":"true","onlyif":"sleep 60","timeout":"20ms"}`,
			Err:        `onlyif: "sleep" timed out after 20ms and was killed`,
		},
	}...)
}

// said collects the messages of a resource.
type said struct {
	lines []string
	exit  *modules.Exit
}

func (s *said) Message(level, text string) { s.lines = append(s.lines, level+": "+text) }
func (s *said) Output(e modules.Exit)      { s.exit = &e }
func (s *said) State(modules.State)        {}

// apply checks, refreshes if requested, applies and verifies.
func apply(t *testing.T, properties, root string, refresh bool) (*said, error) {
	t.Helper()
	res := modtest.Decode(t, modules.Registry{exec.Type()}, "exec", properties, root)
	h, s := modtest.Host(), new(said)
	h.Report = s
	plan, err := res.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	if refresh {
		plan, err = res.(modules.Refresher).Refresh(t.Context(), modules.ReadOnly(h), plan)
		require.NoError(t, err)
		require.True(t, plan.Refreshed)
		require.Equal(t, "executed via subscribe", plan.Action)
	}
	require.True(t, plan.Pending())
	if err := res.Apply(t.Context(), h, plan); err != nil {
		return s, err
	}
	return s, res.(modules.Verifier).Verify(t.Context(), h, plan)
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		name, properties string
		err, redacted    string
	}{
		{
			"exit code", `{"name":"exit 3","provider":"shell"}`,
			"exit code 3 not in allowed returns [0]", "exit code 3 not in allowed returns [0]",
		},
		{
			"the last line of stderr is shown", `{"name":"echo first >&2; echo no secret here >&2; echo >&2; exit 1","provider":"shell","returns":[0,2]}`,
			"exit code 1 not in allowed returns [0, 2]: no secret here", "exit code 1 not in allowed returns [0, 2]",
		},
		{
			"zero can be wrong", `{"name":"true","returns":[1]}`,
			"exit code 0 not in allowed returns [1]", "exit code 0 not in allowed returns [1]",
		},
		{
			"a signal", `{"name":"kill -TERM $$","provider":"shell"}`,
			"exit code 143 not in allowed returns [0]", "exit code 143 not in allowed returns [0]",
		},
		{
			"not found", `{"name":"no-such-program","path":"/bin:/nowhere"}`,
			`command: "no-such-program" is not found in /bin:/nowhere`, "command could not be run",
		},
		{
			"not there", `{"name":"$ROOT/run"}`,
			`command: "$ROOT/run" cannot be started: no such file or directory`, "command could not be run",
		},
		{
			"time is up", `{"name":"sleep 60","timeout":"20ms"}`,
			`command: "sleep" timed out after 20ms and was killed`, "command timed out",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			_, err := apply(t, test.properties, root, false)
			require.EqualError(t, err, strings.ReplaceAll(test.err, "$ROOT", root))
			var r modules.Redactor
			require.ErrorAs(t, err, &r)
			require.Equal(t, test.redacted, r.Redacted())
		})
	}
}

// TestNoSuchUser runs a command as a missing user. Root fails on starting it; other users get an error before, since
// only root could.
func TestNoSuchUser(t *testing.T) {
	const properties = `{"name":"true","user":"4000000000"}`
	if os.Geteuid() != 0 {
		res := modtest.Decode(t, modules.Registry{exec.Type()}, "exec", properties, t.TempDir())
		_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.EqualError(t, err, `user: running as user "4000000000" needs root: permission denied; use "become"`)
		return
	}
	_, err := apply(t, properties, t.TempDir(), false)
	require.EqualError(t, err, `command: user "4000000000": no such account`)
	var r modules.Redactor
	require.ErrorAs(t, err, &r)
	require.Equal(t, "command could not be run", r.Redacted())
}

func TestRefreshIgnoresGuards(t *testing.T) {
	root := t.TempDir()
	_, err := apply(t, `{"name":"touch $ROOT/f","onlyif":"false","unless":"true","refreshonly":true,"creates":"/"}`, root, true)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "f"))
}

func TestTimeoutKillsWhatWasStarted(t *testing.T) {
	root := t.TempDir()
	fifo := filepath.Join(root, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer r.Close()
	_, err = apply(t, `{"name":"(sleep 60; echo late) > $ROOT/fifo & wait","provider":"shell","timeout":"300ms"}`, root, false)
	require.ErrorIs(t, err, modules.ErrTimeout)
	text, err := io.ReadAll(r) // ends when no process is left that could write
	require.NoError(t, err)
	require.Empty(t, string(text))
}

func TestEnvironment(t *testing.T) {
	s, err := apply(t, `{"name":"env","environment":["B=2 3","LANG=de","HOME=/h","USER=u","LOGNAME=l","SHELL=/s"]}`, "", false)
	require.NoError(t, err)
	require.Equal(t, "PATH="+modules.DefaultPath+"\nLC_ALL=C\nB=2 3\nLANG=de\nHOME=/h\nUSER=u\nLOGNAME=l\nSHELL=/s\n", s.exit.Stdout.Text)
}

func TestPath(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "hello"), []byte("#!/bin/sh\necho $PATH\n"), 0o755))
	s, err := apply(t, `{"name":"hello","path":"/nowhere:$ROOT:/bin"}`, root, false)
	require.NoError(t, err)
	require.Equal(t, "/nowhere:"+root+":/bin\n", s.exit.Stdout.Text)
}

func TestOutput(t *testing.T) {
	s, err := apply(t, `{"name":"echo one; echo two; echo oops >&2; exit 3","provider":"shell","returns":[3],"logoutput":true}`, "", false)
	require.NoError(t, err)
	require.Equal(t, []string{"info: one", "info: two"}, s.lines)
	require.Equal(t, 3, s.exit.Code)
	require.Equal(t, modules.Output{Text: "one\ntwo\n"}, s.exit.Stdout)
	require.Equal(t, modules.Output{Text: "oops\n"}, s.exit.Stderr)
}

func TestUser(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	as := func(name string) (string, error) {
		s, err := apply(t, fmt.Sprintf(`{"name":"id -u; echo $HOME $USER $LOGNAME","provider":"shell","user":%q}`, name), "", false)
		if err != nil {
			return "", err
		}
		return s.exit.Stdout.Text, nil
	}
	out, err := as(me.Username)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%s\n%s %s %s\n", me.Uid, me.HomeDir, me.Username, me.Username), out)

	if os.Geteuid() != 0 {
		return
	}
	daemon, err := user.Lookup("daemon")
	require.NoError(t, err)
	out, err = as("daemon")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%s\n%s daemon daemon\n", daemon.Uid, daemon.HomeDir), out)
	s, err := apply(t, `{"name":"echo $SHELL","provider":"shell","user":"daemon"}`, "", false)
	require.NoError(t, err)
	require.Contains(t, s.exit.Stdout.Text, "/nologin")
}

// TestHome holds for the command and for its guards; environment wins.
func TestHome(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	s, err := apply(t, `{"name":"echo ~ $USER $LOGNAME","provider":"shell","unless":"test \"$HOME\" != '`+me.HomeDir+`'","onlyif":"test -n \"$SHELL\""}`, "", false)
	require.NoError(t, err)
	require.NotNil(t, s.exit, "a guard did not have the home")
	require.Equal(t, fmt.Sprintf("%s %s %s\n", me.HomeDir, me.Username, me.Username), s.exit.Stdout.Text)
	s, err = apply(t, `{"name":"echo ~ $USER","provider":"shell","environment":["HOME=/srv","USER=app"]}`, "", false)
	require.NoError(t, err)
	require.Equal(t, "/srv app\n", s.exit.Stdout.Text)
}

// TestUserNeedsRoot checks that the refusal is predicted, also for a command that a refresh would run.
func TestUserNeedsRoot(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		res := modtest.Decode(t, modules.Registry{exec.Type()}, "exec", `{"name":"true","user":"root"}`, "")
		h := modules.ReadOnly(modtest.Host())
		const want = `user: running as user "root" needs root: permission denied; use "become"`
		_, err := res.Check(t.Context(), h)
		require.EqualError(t, err, want)
		_, err = res.(modules.Refresher).Refresh(t.Context(), h, modules.Plan{})
		require.EqualError(t, err, want)
	})
}

func TestCancelled(t *testing.T) {
	properties := `{"name":"echo up; exec sleep 60","provider":"shell","logoutput":true}`
	res := modtest.Decode(t, modules.Registry{exec.Type()}, "exec", properties, "")
	ctx, cancel := context.WithCancel(t.Context())
	h, s := modtest.Host(), new(said)
	h.Report = cancelling{s, cancel}
	plan, err := res.Check(ctx, modules.ReadOnly(h))
	require.NoError(t, err)
	err = res.Apply(ctx, h, plan)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, `command: "/bin/sh" was killed: context canceled`)
	require.Equal(t, 137, s.exit.Code)
	require.Equal(t, "up\n", s.exit.Stdout.Text)
}

// cancelling ends the run when the first line comes.
type cancelling struct {
	*said
	cancel context.CancelFunc
}

func (c cancelling) Message(level, text string) {
	c.said.Message(level, text)
	c.cancel()
}

func TestSent(t *testing.T) {
	for _, test := range []struct {
		name, command string
		want          map[string]string
	}{
		{"both streams", `printf 'a\\n\\n'; printf 'b\\n' >&2; exit 3`, map[string]string{
			"stdout": `"a\n\n"`, "stdout_trimmed": `"a"`, "stderr": `"b\n"`, "output": `"a\n\nb\n"`, "exit_code": "3",
		}},
		{"nothing", "true", map[string]string{"stdout": `""`, "stdout_trimmed": `""`, "stderr": `""`, "output": `""`, "exit_code": "0"}},
		{"no text", `printf '\\377'`, map[string]string{"stderr": `""`, "exit_code": "0"}},
		{"too long", "head -c 70000 /dev/zero >&2", map[string]string{"stdout": `""`, "stdout_trimmed": `""`, "exit_code": "0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := modtest.Decode(t, modules.Registry{exec.Type()}, "exec", `{"name":"`+test.command+`","provider":"shell","returns":[0,3]}`, "").(*exec.Exec)
			h := modtest.Host()
			values, err := res.Sent(t.Context(), h)
			require.NoError(t, err)
			require.Empty(t, values, "it has not run")
			plan, err := res.Check(t.Context(), h)
			require.NoError(t, err)
			require.NoError(t, res.Apply(t.Context(), h, plan))
			values, err = res.Sent(t.Context(), h)
			require.NoError(t, err)
			got := map[string]string{}
			for name, value := range values {
				require.Contains(t, res.Sends(), name)
				got[name] = string(value)
			}
			require.Equal(t, test.want, got)
			_, err = res.Check(t.Context(), h)
			require.NoError(t, err)
			values, err = res.Sent(t.Context(), h)
			require.NoError(t, err)
			require.Empty(t, values, "that was another time")
		})
	}
}
