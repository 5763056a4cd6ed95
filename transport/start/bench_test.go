package start

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestConvergedStartTakesTwoRoundTrips counts after login: one to open a
// channel, one for the command and its greeting.
func TestConvergedStartTakesTwoRoundTrips(t *testing.T) {
	srv := sshtest.Start(t)
	c := connect(t, srv)
	p, err := Program(t.Context(), c, newStart(hello(t)))
	require.NoError(t, err)
	requireEcho(t, p)

	before := srv.Stats().Turns
	p, err = Program(t.Context(), c, newStart(hello(t)))
	require.NoError(t, err)
	require.LessOrEqual(t, srv.Stats().Turns-before, int64(2))
	requireEcho(t, p)
}

// BenchmarkStart is a whole connection to a host that has the module: dial,
// login, start, end.
func BenchmarkStart(b *testing.B) {
	for _, rtt := range []time.Duration{0, 10 * time.Millisecond, 50 * time.Millisecond} {
		b.Run("rtt="+rtt.String(), func(b *testing.B) {
			srv := sshtest.Start(b, sshtest.RTT(rtt))
			d := &dial.Dialer{}
			defer d.Close()
			run := func() {
				c, err := d.Dial(b.Context(), targetOf(srv))
				require.NoError(b, err)
				p, err := Program(b.Context(), c, newStart(hello(b)))
				require.NoError(b, err)
				require.NoError(b, p.CloseWrite())
				require.NoError(b, p.Wait())
				require.NoError(b, c.Close())
			}
			run() // uploads
			before, runs := srv.Stats(), 0
			for b.Loop() {
				run()
				runs++
			}
			after := srv.Stats()
			b.ReportMetric(float64(after.Turns-before.Turns)/float64(runs), "roundtrips/op")
			b.ReportMetric(float64(after.Sent+after.Received-before.Sent-before.Received)/float64(runs), "wire-B/op")
		})
	}
}
