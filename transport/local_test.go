package transport

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

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
	c := NewLocal(Target{Local: true}, nil)
	defer c.Close()
	file := filepath.Join(t.TempDir(), "waits")
	command, err := c.Run("/bin/sh -c 'echo begun; touch "+file+"; exec sleep 1000'", true, io.Discard)
	require.NoError(t, err)
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(command.Stdout)
		read <- string(text)
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, command.Close())
	require.Equal(t, "begun\n", <-read)
	require.Equal(t, &ExitError{Signal: "HUP"}, command.Wait())
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
