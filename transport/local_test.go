package transport

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatEndsReading(t *testing.T) {
	for err, want := range map[error]error{os.ErrClosed: io.EOF, io.EOF: io.EOF, errors.ErrUnsupported: errors.ErrUnsupported} {
		_, got := localReader{failing{err}}.Read(nil)
		require.Equal(t, want, got)
	}
}

// TestLocalTerminalIsClosed has a process that ends when it loses its terminal, from which
// somebody reads meanwhile.
func TestLocalTerminalIsClosed(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // it is not started as under nohup, whatever the test is
	c := NewLocal(Target{Local: true}, nil)
	defer c.Close()
	command, err := c.Run("/bin/sh -c 'echo begun; exec sleep 1000'", true, io.Discard)
	require.NoError(t, err)
	out := bufio.NewReader(command.Stdout)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line)
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(out)
		read <- string(text)
	}()
	require.NoError(t, command.Close())
	require.Empty(t, <-read)
	require.Equal(t, &ExitError{Signal: "HUP"}, command.Wait())
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
