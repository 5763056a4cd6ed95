package transport

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatEndsReading(t *testing.T) {
	for err, want := range map[error]error{os.ErrClosed: io.EOF, io.EOF: io.EOF, errors.ErrUnsupported: errors.ErrUnsupported} {
		_, got := localReader{failing{err}}.Read(nil)
		require.Equal(t, want, got)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
