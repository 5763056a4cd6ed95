package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// served is the program with a session.
type served struct {
	t       *testing.T
	program *exec.Cmd
	conn    *wire.Conn
	in      io.Closer
	out     io.Closer
	stderr  *bytes.Buffer
}

// serveReal starts the program, which greets.
func serveReal(t *testing.T, program string) *served {
	t.Helper()
	return serveFor(t, program, "-")
}

// serveFor is serveReal with the argument that contains the controller's requests.
func serveFor(t *testing.T, program, wanted string) *served {
	t.Helper()
	s := &served{t: t, program: exec.Command(program, "serve", "N0NCE", wanted), stderr: new(bytes.Buffer)}
	s.program.Stderr = s.stderr
	in, err := s.program.StdinPipe()
	require.NoError(t, err)
	out, theirs, err := os.Pipe()
	require.NoError(t, err)
	s.program.Stdout = theirs
	require.NoError(t, s.program.Start())
	theirs.Close()
	t.Cleanup(func() {
		s.program.Process.Kill()
		s.program.Wait()
	})
	reader := bufio.NewReader(out)
	hello, err := reader.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, hello, "N0NCE")
	s.in, s.out, s.conn = in, out, wire.NewConn(reader, in, wire.MaxFromHost)
	return s
}

// hostProgram returns the lean program in a folder of its own.
func hostProgram(t *testing.T) string {
	t.Helper()
	return programOf(t, buildtest.Own(t)[0])
}

// programOf returns a program in a folder of its own.
func programOf(t *testing.T, of builds.Build) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	text, err := of.Program()
	require.NoError(t, err)
	program := filepath.Join(dir, "ccm-module")
	require.NoError(t, os.WriteFile(program, text, 0o700))
	return program
}

// script returns an exec that records its begin and end in files.
func script(dir, name string, seconds int, require ...int) wire.Entry {
	text := fmt.Sprintf("echo >%[1]s/%[2]s.begun; sleep %[3]d; echo >%[1]s/%[2]s.ended", dir, name, seconds)
	properties, _ := json.Marshal(map[string]string{"name": name, "command": text, "provider": "shell"})
	return wire.Entry{Type: "exec", Name: name, Properties: properties, Require: require}
}

// cutOff returns three scripts that start together, and two scripts that depend on them. The first script ends while
// the others run.
func cutOff(dir string) *wire.Message {
	return &wire.Message{Catalog: &wire.Catalog{
		Parallel: 3,
		Lock:     &wire.Lock{Holder: "ann@laptop", Run: "r1", Wait: time.Minute},
		Entries:  []wire.Entry{script(dir, "short", 1), script(dir, "long", 6), script(dir, "other", 6), script(dir, "late", 0, 0), script(dir, "later", 0, 1)},
	}}
}

// TestLostController cuts the connection while three resources run. They end, nothing
// else begins, and the lock is held until then.
func TestLostController(t *testing.T) {
	program := hostProgram(t)
	for _, test := range []struct {
		name string
		// atWrite reports that the program notices the end only when it writes a message, so that dependent resources
		// have begun.
		atWrite bool
		cut     func(*served)
	}{
		{"both ways", false, func(s *served) { s.in.Close(); s.out.Close() }},
		{"what it reads", true, func(s *served) { s.out.Close() }},
		{"and its terminal hangs up", false, func(s *served) {
			require.NoError(s.t, s.program.Process.Signal(syscall.SIGHUP))
			s.in.Close()
			s.out.Close()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			exists := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
			s := serveReal(t, program)
			require.NoError(t, s.conn.Send(cutOff(dir)))
			require.Eventually(t, func() bool { return exists("short.begun") && exists("long.begun") && exists("other.begun") }, time.Minute, time.Millisecond)
			test.cut(s)
			require.Eventually(t, func() bool { return exists("short.ended") }, time.Minute, time.Millisecond)

			next := serveReal(t, program)
			catalog := &wire.Catalog{Lock: &wire.Lock{Holder: "bob@desk", Run: "r2"}}
			require.NoError(t, next.conn.Send(&wire.Message{Catalog: catalog}))
			m, err := next.conn.Receive()
			require.NoError(t, err)
			require.NotNil(t, m.Locked, "the lock is free while long runs")
			m, err = next.conn.Receive()
			require.NoError(t, err)
			require.NotNil(t, m.Refused, "the lock is free while long runs")
			require.Contains(t, m.Refused.Error, "another run is in progress on this host: ann@laptop, run r1, for ")
			require.False(t, exists("long.ended"))

			exit, ok := errors.AsType[*exec.ExitError](s.program.Wait())
			require.True(t, ok)
			require.Equal(t, 2, exit.ExitCode(), "%v", exit)
			require.Contains(t, s.stderr.String(), "broken pipe")
			require.True(t, exists("long.ended") && exists("other.ended"))
			require.False(t, exists("late.begun") && !test.atWrite)
			require.False(t, exists("later.begun"))

			catalog.Lock.Wait = time.Minute // others of this machine may hold it
			require.NoError(t, next.conn.Send(&wire.Message{Catalog: catalog}))
			m, err = next.conn.Receive()
			require.NoError(t, err)
			require.NotNil(t, m.Done)
		})
	}
}

// TestSilentController sets the time that the controller may be silent.
func TestSilentController(t *testing.T) {
	s := serveFor(t, hostProgram(t), "-:100")
	exit, ok := errors.AsType[*exec.ExitError](s.program.Wait())
	require.True(t, ok)
	require.Equal(t, 2, exit.ExitCode(), "%v", exit)
	require.Contains(t, s.stderr.String(), "nothing was heard from the controller")
}

// TestCommandsIgnoreNoSignal runs a command that reports its ignored signals: a command inherits them from the program.
func TestCommandsIgnoreNoSignal(t *testing.T) {
	s := serveReal(t, hostProgram(t))
	properties := []byte(`{"name":"signals","command":"grep Sig /proc/self/status"}`)
	require.NoError(t, s.conn.Send(&wire.Message{Catalog: &wire.Catalog{Entries: []wire.Entry{{Type: "exec", Name: "signals", Properties: properties}}}}))
	m, err := s.conn.Receive()
	require.NoError(t, err)
	require.NotNil(t, m.Result)
	require.Empty(t, m.Result.Error)
	ignored := false
	for line := range strings.Lines(m.Result.Exit.Stdout.Text) {
		if name, mask, _ := strings.Cut(line, ":\t"); name == "SigIgn" {
			ignored = true
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			require.NoError(t, err)
			require.Zero(t, bits&(1<<31-1), "%s", mask) // those from 32 on are the C library's
		}
	}
	require.True(t, ignored, m.Result.Exit.Stdout.Text)
}

// TestRunIntoAClosedPipe runs a resource whose result has no reader.
func TestRunIntoAClosedPipe(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := exec.CommandContext(ctx, hostProgram(t), "run")
	p.Stdin = strings.NewReader(`{"type":"exec","properties":{"name":"true"}}`)
	in, out, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, in.Close())
	p.Stdout = out
	exit, ok := errors.AsType[*exec.ExitError](p.Run())
	require.True(t, ok)
	require.Equal(t, 2, exit.ExitCode(), "%v", exit)
}
