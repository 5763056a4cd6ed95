package session

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestUnsentQuestion sends a request to a controller that is gone before the host has noticed: the entry does not fail,
// since the next controller continues it.
func TestUnsentQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		q := &questions{
			conn:  wire.NewConn(bufio.NewReader(strings.NewReader("")), closedPipe{}, 1000),
			ended: ended, stopping: ended, asked: map[question]chan *wire.Message{},
		}
		_, err := q.elsewhere(t.Context(), &wire.Elsewhere{})
		require.ErrorIs(t, err, io.ErrClosedPipe, "the controller is there still")
		time.AfterFunc(time.Second, func() { close(ended) })
		_, err = q.elsewhere(t.Context(), &wire.Elsewhere{})
		require.Equal(t, engine.ErrBeforeTurn, err)
		_, err = q.imports(t.Context(), 0)
		require.Equal(t, engine.ErrBeforeTurn, err)
	})
}
