package reach

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("NOT TESTED: there is no /dev/ptmx")
	}
	t.Cleanup(func() { keys.Close() })
	var n int
	raw, err := keys.SyscallConn()
	require.NoError(t, err)
	var unlockErr, numberErr error
	require.NoError(t, raw.Control(func(fd uintptr) {
		unlockErr = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		n, numberErr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	}))
	require.NoError(t, unlockErr)
	require.NoError(t, numberErr)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	return keys, tty
}

// TestNothingIsShown types a secret after the prompt has appeared.
func TestNothingIsShown(t *testing.T) {
	keys, tty := openTerminal(t)
	before := terminalState(t, tty)
	var typing sync.WaitGroup
	var shown strings.Builder
	typing.Go(func() {
		for b := make([]byte, 1); !strings.HasSuffix(shown.String(), "\r\n"); {
			if _, err := keys.Read(b); err != nil {
				return
			}
			if shown.Write(b); strings.HasSuffix(shown.String(), ": ") {
				io.WriteString(keys, "se\x7fwrong\x15secret\r")
			}
		}
	})
	got, err := askOn(t.Context(), tty, "SSH password \x1b[2J: ")
	require.NoError(t, err)
	typing.Wait()
	require.Equal(t, "secret", string(got.Reveal()))
	require.Equal(t, `SSH password \x1b[2J: `+"\r\n", shown.String())
	require.Equal(t, before, terminalState(t, tty))
}

func terminalState(t *testing.T, tty *os.File) *term.State {
	t.Helper()
	raw, err := tty.SyscallConn()
	require.NoError(t, err)
	var state *term.State
	require.NoError(t, raw.Control(func(fd uintptr) { state, err = term.GetState(int(fd)) }))
	require.NoError(t, err)
	return state
}

// TestPromptEndsWithTheRun has SIGTERM sent while nothing is typed.
func TestPromptEndsWithTheRun(t *testing.T) {
	_, tty := openTerminal(t)
	before := terminalState(t, tty)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := askOn(ctx, tty, "x: ")
	require.Equal(t, ErrInterrupted, err)
	require.Equal(t, before, terminalState(t, tty))
}
