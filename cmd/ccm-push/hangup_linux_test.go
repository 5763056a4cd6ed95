package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
)

// alone is the program, as a process of its own, in a folder of its own.
type alone struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

// pushAlone prepares a run on this machine of two resources and one between them: the first one ends a second after a
// file exists. Other tests run in the meantime.
func pushAlone(t *testing.T, between, line string) *alone {
	t.Helper()
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // so that started programs do not ignore the signal, even if the tests run under nohup
	a := &alone{t: t, dir: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(a.dir, "home"), 0o700))
	for name, text := range map[string]string{
		"hosts.yaml": "all: {hosts: {web1: {connect: {connection: local}}}}\n",
		"site.yaml": fmt.Sprintf(`ccm:
  resources:
    - exec:
        - first: {provider: shell, cwd: %[1]q, command: "touch began; until test -e go; do sleep 0.02; done; sleep 1; touch first"}
        - between: {command: %[2]q}
        - second: {cwd: %[1]q, command: "touch second"}
`, a.dir, between),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600))
	}
	t.Cleanup(a.rests)
	a.cmd = exec.Command("/bin/sh", "-c", line)
	a.cmd.Dir = a.dir
	a.cmd.Env = append(os.Environ(), "HOME="+filepath.Join(a.dir, "home"), "MODULE_DIR="+hostPrograms(t))
	return a
}

func (a *alone) exists(name string) bool {
	_, err := os.Stat(filepath.Join(a.dir, name))
	return err == nil
}

// rests waits until the host program has ended, which outlives a controller that is killed and
// writes to the folder until then.
func (a *alone) rests() {
	require.Eventually(a.t, func() bool {
		programs, err := filepath.Glob("/proc/[0-9]*/exe")
		require.NoError(a.t, err)
		return !slices.ContainsFunc(programs, func(exe string) bool {
			path, _ := os.Readlink(exe) // empty for processes of others, or if it has just ended
			return strings.HasPrefix(path, a.dir)
		})
	}, time.Minute, 20*time.Millisecond)
}

// awaits waits for a file.
func (a *alone) awaits(name string) {
	a.t.Helper()
	require.Eventually(a.t, func() bool { return a.exists(name) }, time.Minute, 5*time.Millisecond)
}

// begins lets the first resource end.
func (a *alone) begins() {
	a.t.Helper()
	a.awaits("began")
	require.NoError(a.t, os.WriteFile(filepath.Join(a.dir, "go"), nil, 0o600))
}

// status waits for the end: by itself, and not by a signal.
func (a *alone) status() int {
	a.t.Helper()
	timer := time.AfterFunc(time.Minute, func() { a.cmd.Process.Kill() })
	defer timer.Stop()
	_ = a.cmd.Wait()
	require.True(a.t, a.cmd.ProcessState.Exited(), "%v", a.cmd.ProcessState)
	return a.cmd.ProcessState.ExitCode()
}

// TestClosedTerminal closes the terminal of a run: it ends as by SIGTERM.
func TestClosedTerminal(t *testing.T) {
	for _, test := range []struct{ name, line string }{
		{"all is on it", "exec ccm-push -i hosts.yaml site.yaml"},
		{"but the output", "exec ccm-push -i hosts.yaml site.yaml >out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := pushAlone(t, "true", test.line)
			terminal, err := pty.Start(a.cmd)
			require.NoError(t, err)
			a.awaits("began")
			require.NoError(t, terminal.Close())
			a.begins()
			require.Equal(t, exit.Interrupted, a.status())
			require.True(t, a.exists("first"), "what is running ends")
			require.False(t, a.exists("second"), "nothing else begins")
			if text, err := os.ReadFile(filepath.Join(a.dir, "out")); err == nil {
				require.Contains(t, string(text), "web1  interrupted  2 resources not reached: exec#between and what follows it\n")
				require.Contains(t, string(text), "\ninterrupted: 1 host: 0 ok, 1 interrupted; 3 resources: 1 changed, 0 stable, 2 not reached; ")
			}
		})
	}
}

// TestHangupIsIgnored is about a run that nohup has started.
func TestHangupIsIgnored(t *testing.T) {
	a := pushAlone(t, "true", "trap '' HUP; exec ccm-push -i hosts.yaml site.yaml >out 2>&1")
	require.NoError(t, a.cmd.Start())
	a.awaits("began")
	require.NoError(t, a.cmd.Process.Signal(syscall.SIGHUP))
	a.begins()
	text := func() string { text, _ := os.ReadFile(filepath.Join(a.dir, "out")); return string(text) }
	require.Equal(t, 0, a.status(), text())
	require.True(t, a.exists("second"))
	require.NotContains(t, text(), "stopping")
}

// TestNobodyReads closes the output of a run: the run continues, and ends with its status.
func TestNobodyReads(t *testing.T) {
	for _, test := range []struct {
		name, between, flags string
		want                 int
	}{
		{"a pipe", "true", "", 0},
		{"a pipe, and a resource fails", "false", "", 2},
		{"a pipe of JSON", "true", "--output json", 0},
		{"standard error too", "false", "-v 2>&1", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := pushAlone(t, test.between, "exec ccm-push -i hosts.yaml site.yaml "+test.flags)
			read, write, err := os.Pipe()
			require.NoError(t, err)
			a.cmd.Stdout = write
			var stderr bytes.Buffer
			a.cmd.Stderr = &stderr
			require.NoError(t, a.cmd.Start())
			write.Close()
			a.awaits("began")
			read.Close()
			a.begins()
			require.Equal(t, test.want, a.status(), stderr.String())
			require.True(t, a.exists("second"))
			require.Empty(t, stderr.String())
		})
	}
}

// TestFullDisk checks that output lost for another reason is reported.
func TestFullDisk(t *testing.T) {
	a := pushAlone(t, "true", "touch go; exec ccm-push -i hosts.yaml site.yaml >/dev/full")
	var stderr bytes.Buffer
	a.cmd.Stderr = &stderr
	require.NoError(t, a.cmd.Start())
	require.Equal(t, 2, a.status())
	require.Contains(t, stderr.String(), "no space left on device")
	require.True(t, a.exists("second"))
}
