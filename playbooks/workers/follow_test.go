package workers

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

const followedRun = "01JDXYZ0000000000000000001"

// A followed run is shared by a coordinator, and followed by a stranger.
type followed struct {
	t      *testing.T
	server *server.Server
	mine   *Handover
	other  *Handover
	copied *Copy
}

// shared is the run as it is shared now.
func (f *followed) shared() *Shared {
	f.t.Helper()
	s, err := f.mine.Find(f.t.Context(), followedRun)
	require.NoError(f.t, err)
	return s
}

// take has the stranger continue the run, whose coordinator is silent.
func (f *followed) take() *Lease {
	f.t.Helper()
	f.copied.own.end()
	s := f.shared()
	s.Held = false
	lease, err := f.other.Take(f.t.Context(), s)
	require.NoError(f.t, err)
	return lease
}

// TestFollow follows a run until no more will come, and checks the reason.
func TestFollow(t *testing.T) {
	for name, test := range map[string]struct {
		before func(f *followed) // called before it is followed
		then   func(f *followed)
		want   string // reason; empty if the run has ended
	}{
		"it ends": {then: func(f *followed) {
			f.copied.End(record.End{})
			require.NoError(f.t, f.copied.Close(f.t.Context()))
		}},
		"its coordinator is killed": {
			then: func(f *followed) { f.copied.own.end() },
			want: "no message from coordinator@here (pid 1), the controller of run " + followedRun + ", since 2",
		},
		"NATS ends": {
			then: func(f *followed) { f.server.Shutdown() },
			want: "no message from coordinator@here (pid 1), the controller of run " + followedRun + ", since 2",
		},
		"another one goes on": {
			then: func(f *followed) { f.take() },
			want: "run " + followedRun + " was continued by stranger@here (pid 1) at 2",
		},
		"it was given back without its end": {
			before: func(f *followed) { require.NoError(f.t, f.take().GiveBack(f.t.Context())) },
			want:   "run " + followedRun + " was released by stranger@here (pid 1) before its end",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, plays())
			f := &followed{t: t, server: serve(t, s.dir)}
			url := f.server.ClientURL()
			f.mine, _ = s.handover(connect(t, url).(*queue.JetStream), "coordinator", "stranger")
			f.other, _ = s.handover(connect(t, url).(*queue.JetStream), "stranger", "coordinator")
			var err error
			f.copied, err = f.mine.Share(t.Context(), followedRun, "site.yaml", "name", nil)
			require.NoError(t, err)
			t.Cleanup(func() {
				f.copied.giveUp()
				f.copied.own.end()
			})
			f.copied.Begin(record.Header{Run: followedRun})
			f.copied.Lines([]byte("one\n"))
			if test.before != nil {
				require.Eventually(t, func() bool { return len(f.read()) == 2 }, wait, 10*time.Millisecond)
				test.before(f)
			}
			var parts []Part
			var once sync.Once
			var ending sync.WaitGroup
			err = f.other.Follow(t.Context(), f.shared(), func(p Part) error {
				parts = append(parts, p)
				if test.then != nil && p.Lines != nil {
					once.Do(func() { ending.Go(func() { test.then(f) }) })
				}
				return nil
			})
			ending.Wait()
			require.Equal(t, "one\n", string(parts[1].Lines))
			if test.want == "" {
				require.NoError(t, err)
				require.NotNil(t, parts[2].End)
				return
			}
			require.Len(t, parts, 2)
			var lost *LostError
			require.ErrorAs(t, err, &lost)
			require.True(t, strings.HasPrefix(err.Error(), test.want), err.Error())
			require.Equal(t, name == "NATS ends", strings.Contains(err.Error(), "NATS does not answer"), err.Error())
		})
	}
}

// read returns the existing record of the run.
func (f *followed) read() (parts []Part) {
	f.t.Helper()
	require.NoError(f.t, f.mine.Read(f.t.Context(), f.shared(), false, func(p Part) error {
		parts = append(parts, p)
		return nil
	}))
	return parts
}

// TestLeavesFollowing ends the following of a run by its reader.
func TestLeavesFollowing(t *testing.T) {
	s := newSite(t, plays())
	q := connect(t, serve(t, s.dir).ClientURL()).(*queue.JetStream)
	mine, _ := s.handover(q, "coordinator")
	copied, err := mine.Share(t.Context(), followedRun, "site.yaml", "name", nil)
	require.NoError(t, err)
	copied.Begin(record.Header{Run: followedRun})
	shared, err := mine.Find(t.Context(), followedRun)
	require.NoError(t, err)
	ctx, leave := context.WithCancel(t.Context())
	require.ErrorIs(t, mine.Follow(ctx, shared, func(Part) error {
		leave()
		return nil
	}), context.Canceled)
	require.NoError(t, copied.Close(t.Context()))
}

// TestEndIsCopied has NATS be away when a run ends: its record gets its end when that is there again.
func TestEndIsCopied(t *testing.T) {
	s := newSite(t, plays())
	f := &followed{t: t, server: serve(t, s.dir)}
	port := f.server.Addr().(*net.TCPAddr).Port
	f.mine, _ = s.handover(connect(t, f.server.ClientURL()).(*queue.JetStream), "coordinator")
	var err error
	f.copied, err = f.mine.Share(t.Context(), followedRun, "site.yaml", "name", nil)
	require.NoError(t, err)
	f.copied.Begin(record.Header{Run: followedRun})
	require.Eventually(t, func() bool { return len(f.read()) == 1 }, wait, 10*time.Millisecond)
	f.server.Shutdown()
	f.server.WaitForShutdown()
	f.copied.End(record.End{Interrupted: true})
	var restarting sync.WaitGroup
	restarting.Go(func() {
		time.Sleep(time.Second) // it is tried in vain
		serveAt(t, s.dir, port)
	})
	require.NoError(t, f.copied.Close(t.Context()))
	restarting.Wait()
	parts := f.read()
	require.Len(t, parts, 2)
	require.True(t, parts[1].End.Interrupted)
	require.True(t, f.shared().Over)
}
