package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestDelayed checks when events are in the file: together, a tenth of a second after the first of them, earlier if
// they are many, on Sync, and at the end.
func TestDelayed(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) {
		r := s.Recorder(Header{Run: NewID(began)}, func(text string) { t.Error(text) })
		path := filepath.Join(s.Folder, r.header.Run, eventsFile)
		lines := func() int {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			return strings.Count(string(text), "\n")
		}
		r.Report(events.RunStart{})
		time.Sleep(longestDelay / 2)
		r.Report(result("web1", events.Stable))
		require.Zero(t, lines())
		time.Sleep(longestDelay/2 + 1)
		synctest.Wait()
		require.Equal(t, 2, lines())

		r.Report(result("web1", events.Changed))
		time.Sleep(longestDelay / 2)
		r.Sync()
		require.Equal(t, 3, lines())
		r.Report(result("web2", events.Changed))
		time.Sleep(longestDelay/2 + 1)
		synctest.Wait()
		require.Equal(t, 3, lines(), "the time counts from the first that waits")

		long := result("web2", events.Failed)
		long.Error = strings.Repeat("x", mostDelayed)
		r.Report(long)
		require.Equal(t, 5, lines())
		r.ReportAll([]events.Event{result("web3", events.Stable), events.Summary{}})
		require.Equal(t, 7, lines())
	})
}
