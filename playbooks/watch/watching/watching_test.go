package watching

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWatchGivesBackOnce releases memory once hosts have only been listened to for a while, and not again before a play
// has been sent to one.
func TestWatchGivesBackOnce(t *testing.T) {
	now := time.Now()
	w := &Watching{}
	require.Zero(t, w.giveBack(now))
	w.busy = now
	require.Equal(t, now.Add(restTime), w.giveBack(now.Add(restTime-time.Second)))
	require.Equal(t, now, w.busy)
	require.Zero(t, w.giveBack(now.Add(restTime)))
	require.Zero(t, w.busy)
}
