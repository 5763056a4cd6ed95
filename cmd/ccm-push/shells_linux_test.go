package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// shellSetup makes a shell complete, without what its user and system have set up.
var shellSetup = map[string]struct {
	argv  []string
	lines string
}{
	"bash":           {[]string{"bash", "--norc", "--noprofile", "-i"}, "source <(ccm-push completion bash)"},
	"zsh":            {[]string{"zsh", "-f", "-i"}, "unsetopt beep; autoload -U compinit && compinit -u -D && source <(ccm-push completion zsh)"},
	"zsh from fpath": {[]string{"zsh", "-f", "-i"}, "mkdir f; fpath=($PWD/f $fpath); ccm-push completion zsh >f/_ccm-push; autoload -U compinit; compinit -u -D; true"},
	"fish":           {[]string{"fish", "--no-config", "--private", "-i"}, "ccm-push completion fish | source"},
}

// typing are lines as people type them, and the words that the shell makes of them. \t is the
// tab key.
var typing = []struct {
	line string
	want []string
}{
	{"ccm-push fac\t", []string{"facts"}},
	{"ccm-push inventory expl\tdb\t", []string{"inventory", "explain", "db1"}},
	{"ccm-push facts web1\t", []string{"facts", "web1"}},
	{"ccm-push facts 'web:&d\t'", []string{"facts", "web:&db"}},
	{"ccm-push facts web,cach\t", []string{"facts", "web,cache"}},
	{"ccm-push facts web:cach\t", []string{"facts", "web:cache"}},
	{"ccm-push facts 'web:!cach\t", []string{"facts", "web:!cache"}},
	{"ccm-push --limit cach\t", []string{"--limit", "cache"}},
	{"ccm-push --limit @last:fai\t", []string{"--limit", "@last:failed"}},
	{"ccm-push --limit=cach\t", []string{"--limit=cache"}},
	{"ccm-push --limit=web:cach\t", []string{"--limit=web:cache"}},
	{"ccm-push db1 serv\t", []string{"db1", "service"}},
	{"ccm-push db1 file /x ens\tpre\t", []string{"db1", "file", "/x", "ensure=present"}},
	{"ccm-push db1 file /x ensure=ab\t", []string{"db1", "file", "/x", "ensure=absent"}},
	{"ccm-push site.yaml --tags sl\t", []string{"site.yaml", "--tags", "slow"}},
	{"ccm-push site.yaml --tags=quick,sl\t", []string{"site.yaml", "--tags=quick,slow"}},
	{"ccm-push site.yaml --start-at exec#o\t", []string{"site.yaml", "--start-at", "exec#one"}},
	{"ccm-push site.yaml --start-at file#/e\t", []string{"site.yaml", "--start-at", "file#/etc/a:b"}},
	{"ccm-push site.yaml --start-at file#/etc/a:\t", []string{"site.yaml", "--start-at", "file#/etc/a:b"}},
	{"ccm-push site.yaml --start-at exec#tw\t", []string{"site.yaml", "--start-at", "exec#two words; $HOME 'x'"}},
	{"ccm-push site.yaml --start-at 'exec#tw\t", []string{"site.yaml", "--start-at", "exec#two words; $HOME 'x'"}},
	{"ccm-push runs show la\t", []string{"runs", "show", "last"}},
	{"ccm-push undo la\t", []string{"undo", "last"}},
	{"ccm-push doc cro\t", []string{"doc", "cron"}},
	{"ccm-push completion zs\t", []string{"completion", "zsh"}},
	// Files, where there may be some.
	{"ccm-push validate sit\t", []string{"validate", "site.yaml"}},
	{"ccm-push sit\t", []string{"site.yaml"}},
	{"ccm-push dee\tman\t", []string{"deep/manifest.yaml"}},
	{"ccm-push --log=sit\t", []string{"--log=site.yaml"}},
	{"ccm-push -i ~/oth\t facts elsew\t", []string{"-i", "$HOME/other.yaml", "facts", "elsewhere"}},
	// The Tab key runs no typed command, and an error is not a completion.
	{"ccm-push db1 exec 'true; echo >>ran' '$(echo >>ran)' \"$(echo 1 >>ran)\" x\t", []string{"db1", "exec", "true; echo >>ran", "$(echo >>ran)", "", "x"}},
	{"ccm-push --nonsense web1 z\t", []string{"--nonsense", "web1", "z"}},
}

// TestShells types lines on a terminal of each shell, completes them, and checks the words of the result.
func TestShells(t *testing.T) {
	t.Parallel()
	for shell, setup := range shellSetup {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			needs.Program(t, setup.argv[0])
			s := startShell(t, setup.argv)
			s.run(setup.lines)
			for _, test := range typing {
				want := "<ccm-push><" + strings.Join(test.want, "><") + ">"
				require.Equal(t, strings.ReplaceAll(want, "$HOME/", s.home+"/"), s.words(test.line), "%q\n%s", test.line, s.screen())
			}
			// Press Tab twice for several completions: a list, with descriptions.
			_, err := io.WriteString(s.terminal, "ccm-push runs \t\t")
			require.NoError(t, err)
			require.Eventually(t, func() bool { return strings.Contains(s.screen(), "print hosts and resources") },
				time.Minute, 5*time.Millisecond, "%s", screenOf{s})
			ran, err := os.ReadFile(filepath.Join(s.home, "ran"))
			require.NoError(t, err)
			require.Equal(t, "1\n", string(ran), "by the line itself alone")
		})
	}
}

// A shell is one on a terminal.
type shell struct {
	t        *testing.T
	home     string
	terminal *os.File
	lines    int
	mu       sync.Mutex
	shown    bytes.Buffer
}

func startShell(t *testing.T, argv []string) *shell {
	t.Helper()
	s := &shell{t: t, home: t.TempDir()}
	for name, text := range map[string]string{
		"hosts.yaml":         "all:\n  children:\n    web: {hosts: {web1: , web2: }}\n    db: {hosts: {db1: }}\n    cache: {hosts: {c1: }}\n",
		"other.yaml":         "all: {hosts: {elsewhere: }}\n",
		"site.yaml":          "- hosts: web\n  tags: [quick]\n  ccm:\n    resources:\n      - exec: [one: {tags: [slow]}, \"two words; $HOME 'x'\": {}]\n      - file: [\"/etc/a:b\": {ensure: absent}]\n",
		"deep/manifest.yaml": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.home, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(s.home, name), []byte(text), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = s.home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TERM=xterm", "LC_ALL=C.UTF-8", "XDG_STATE_HOME=" + s.home + "/state"}
	var err error
	s.terminal, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	require.NoError(t, err)
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(s, s.terminal) })
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s.terminal.Close()
		reading.Wait()
	})
	return s
}

// Write implements [io.Writer] for the output of the terminal.
func (s *shell) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(p)
}

// screen returns all output of the terminal.
func (s *shell) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// run runs a line in the shell, and waits for its end.
func (s *shell) run(line string) { s.typed(line, "") }

// words returns the words of a line with ccm-push, each in angle brackets.
func (s *shell) words(line string) string {
	return s.typed(line, "\x01printf '<%s>' \x05") // Ctrl-A and Ctrl-E: to the beginning, to the end
}

// typed types a line and the keys that complete it to a command, and returns the output of that command.
func (s *shell) typed(line, command string) string {
	s.t.Helper()
	s.lines++
	path := filepath.Join(s.home, fmt.Sprintf("printed%d", s.lines))
	_, err := fmt.Fprintf(s.terminal, "%s%s >%s.new && mv %s.new %s\r", line, command, path, path, path)
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	}, time.Minute, 5*time.Millisecond, "%q\n%s", line, screenOf{s})
	text, err := os.ReadFile(path)
	require.NoError(s.t, err)
	return string(text)
}

// screenOf is the screen when it is printed.
type screenOf struct{ *shell }

// String implements [fmt.Stringer].
func (s screenOf) String() string { return s.screen() }
