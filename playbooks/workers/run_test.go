package workers

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTasksWhileTheyEnd starts goroutines while they are waited for, as workers ask while a run is closed; make race watches it.
func TestTasksWhileTheyEnd(t *testing.T) {
	for range 100 {
		var all tasks
		var begun, ended atomic.Int32
		var askers sync.WaitGroup
		for range 4 {
			askers.Go(func() {
				for all.start(func() { ended.Add(1) }) {
					begun.Add(1)
				}
			})
		}
		all.close()
		atClose := ended.Load()
		askers.Wait()
		require.Equal(t, begun.Load(), atClose)
		require.False(t, all.start(func() {}))
	}
}
