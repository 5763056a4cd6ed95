package workers

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStopped stops a run whose worker was killed, or whose worker runs a resource for longer than a worker may be
// silent. The host of a killed worker fails as lost. The run waits for the host of a live worker.
func TestStopped(t *testing.T) {
	for _, killed := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, waiting, "web1")
			srv := serve(t, s.dir)
			worker := s.process(srv.ClientURL())
			got := &recorded{}
			r := s.runner(s.inventory(map[string]string{"web1": fmt.Sprintf("dir: %q,", s.dir)}), got)
			c, warned := s.coordinator(connect(t, srv.ClientURL()), r)
			c.times.unwatched = 3 * laterTime
			stop := make(chan struct{})
			require.NoError(t, c.Begin(t.Context()))
			var waits sync.WaitGroup
			waits.Go(func() {
				require.Eventually(t, s.exists("begun"), wait, 10*time.Millisecond)
				if killed {
					require.NoError(t, worker.Process.Kill())
				} else {
					time.AfterFunc(2*c.times.unwatched, func() { s.write("go", "") })
				}
				close(stop)
			})
			summary, err := r.Run(t.Context(), stop)
			require.NoError(t, errors.Join(err, c.Close(t.Context())))
			waits.Wait()
			lines := strings.Join(got.lines(s), "\n")
			if !killed {
				require.Equal(t, 1, summary.Totals.Hosts.OK, "%s\n%s", lines, warned.all())
				require.Empty(t, warned.all())
				return
			}
			require.Equal(t, 1, summary.Totals.Hosts.Failed, "%s\n%s", lines, warned.all())
			require.Equal(t, 1, strings.Count(lines, `"error":"worker worker was lost, so the outcome on this host is unknown","event":"host_failed","hint":"the next run reports the changes that the lost run made"`), lines)
			require.Regexp(t, "^worker worker was lost, last heard at [0-9:]{8}: not waiting for 1 host$", warned.all())
		})
	}
}
