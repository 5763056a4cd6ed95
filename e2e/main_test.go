//go:build e2e

// Package e2e runs ccm-push as its users do: as a program, against real SSH
// servers.
package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
)

// programs returns the folder with the programs under test, which are built once for all tests.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ccm-push-e2e-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", dir+"/", "../cmd/ccm-push", "../cmd/ccm-push-broker", "./lag", "./floor", "./bare", "./simfleet")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building the programs under test: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// programPath is the path of a program that is built from this tree.
func programPath(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := programs()
	require.NoError(tb, err)
	return filepath.Join(dir, name)
}

var modulesMade sync.Mutex

// moduleDir is a folder with the host programs of this machine.
func moduleDir(tb testing.TB) string {
	tb.Helper()
	modulesMade.Lock()
	defer modulesMade.Unlock()
	dir := filepath.Join(programPath(tb, ""), "modules")
	if _, err := os.Stat(filepath.Join(dir, builds.IndexFile)); err == nil {
		return dir
	}
	require.NoError(tb, os.MkdirAll(dir, 0o755))
	var entries []builds.Entry
	for _, b := range buildtest.Both(tb) {
		entry, err := b.Write(dir)
		require.NoError(tb, err)
		entries = append(entries, entry)
	}
	require.NoError(tb, builds.WriteIndex(dir, entries))
	return dir
}

// A run has the exit status and the output of a call of ccm-push.
type run struct {
	code           int
	stdout, stderr string
}

// pushCommand is a call of ccm-push in a folder.
func pushCommand(tb testing.TB, dir string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), programPath(tb, "ccm-push"), append([]string{"--module-dir", moduleDir(tb), "--ssh-config", "none"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "SSH_AUTH_SOCK=")
	return cmd
}

// processOf returns a running process by its number. Later signals never reach another process that has the same number
// by then (pidfd_open(2)).
func processOf(tb testing.TB, pid int) *os.Process {
	tb.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(tb, err)
	return p
}

// push calls ccm-push and waits for its end.
func push(tb testing.TB, dir string, args ...string) run {
	tb.Helper()
	return ended(tb, pushCommand(tb, dir, args...))
}

// ended waits for the end of a call.
func ended(tb testing.TB, cmd *exec.Cmd) run {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		require.NoError(tb, err)
	}
	return run{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// requireCode shows the whole output if the exit status is another one.
func (r run) requireCode(tb testing.TB, code int) {
	tb.Helper()
	require.Equal(tb, code, r.code, "stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
}

// output runs a program that must succeed.
func output(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	return outputOf(tb, exec.Command(name, args...))
}

func outputOf(tb testing.TB, cmd *exec.Cmd) string {
	tb.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, "%s: %s", cmd, out)
	return string(out)
}
