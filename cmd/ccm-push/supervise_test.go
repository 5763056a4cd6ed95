package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
)

func TestTheThirdSignalWaitsForNothing(t *testing.T) {
	// The program waits forever: no process writes to the pipe that it reads as a limit.
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	var stderr bytes.Buffer
	a := app.New(strings.NewReader(""), new(bytes.Buffer), &stderr, nil)
	signals := make(chan os.Signal, 3)
	for range 3 {
		signals <- os.Interrupt
	}
	err = supervise(t.Context(), a, []string{"-i", "web1,", "--limit", fmt.Sprintf("@/dev/fd/%d", in.Fd()), "--list-hosts", "all"}, signals)
	require.Equal(t, exit.Status(exit.Interrupted), err)
	require.Equal(t, "ccm-push: stopping after the running resources; press Ctrl-C again to kill them\n"+
		"ccm-push: killing the running resources on the hosts\n", stderr.String())
}

// TestAClosedTerminalKillsNothing hears of it several times, as from a shell, while the
// program reads a limit.
func TestAClosedTerminalKillsNothing(t *testing.T) {
	limit := filepath.Join(t.TempDir(), "limit")
	require.NoError(t, syscall.Mkfifo(limit, 0o600))
	var stderr bytes.Buffer
	a := app.New(strings.NewReader(""), new(bytes.Buffer), &stderr, nil)
	signals := make(chan os.Signal)
	ended := make(chan error, 1)
	go func() {
		ended <- supervise(t.Context(), a, []string{"-i", "web1,", "--limit", "@" + limit, "--list-hosts", "all"}, signals)
	}()
	out, err := os.OpenFile(limit, os.O_WRONLY, 0) // once it is read
	require.NoError(t, err)
	for range 4 {
		signals <- syscall.SIGHUP
	}
	out.Close()
	<-ended
	require.Equal(t, "ccm-push: stopping after the running resources; press Ctrl-C again to kill them\n", stderr.String())
}

// TestTheFirstSignalEndsLoading uses an inventory that never arrives: a pipe that no process opens for writing, a pipe
// without writes, and a script that hangs.
func TestTheFirstSignalEndsLoading(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	require.NoError(t, os.WriteFile("script", []byte("#!/bin/sh\nsleep 1000\n"), 0o700))
	require.NoError(t, os.WriteFile("site.yaml", []byte("- hosts: all\n"), 0o600))
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	for _, inventory := range []string{"pipe", fmt.Sprintf("/dev/fd/%d", in.Fd()), "./script"} {
		for _, words := range [][]string{{"--list-hosts", "all"}, {"inventory"}, {"site.yaml"}, {"validate", "site.yaml"}, {"render", "site.yaml", "web1"}, {"all", "exec", "true"}} {
			var stderr bytes.Buffer
			a := app.New(strings.NewReader(""), new(bytes.Buffer), &stderr, nil)
			signals := make(chan os.Signal, 1)
			signals <- os.Interrupt
			err := supervise(t.Context(), a, append([]string{"-i", inventory}, words...), signals)
			require.Equal(t, exit.Interrupted, exitCode(err, &stderr), "%s %s", inventory, words)
			require.Equal(t, "ccm-push: stopping after the running resources; press Ctrl-C again to kill them\n", stderr.String())
		}
	}
}
