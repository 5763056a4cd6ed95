package session

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestHears has a controller that sends messages, one that has been silent for too long, and one that is gone: only the
// first one moves the deadline of unconfirmed changes.
func TestHears(t *testing.T) {
	const idle = time.Minute
	var silent time.Duration
	r := newReceiver(nil, newSpool("", nil), nil)
	c := &confirming{
		serving: &serving{Session: &Session{IdleTimeout: idle}, receiver: r},
		silent:  func() time.Duration { return silent },
	}
	require.True(t, c.hears())
	silent = wire.PingInterval(idle) * 2
	require.False(t, c.hears())
	silent = 0
	r.end(io.EOF)
	require.False(t, c.hears())
}
