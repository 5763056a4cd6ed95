package queue_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// openRecords returns a queue of a server of its own with its records, and the server's streams.
func openRecords(t *testing.T, lease time.Duration) (*queue.JetStream, *queue.Records, jetstream.JetStream) {
	t.Helper()
	conn := connect(t, serve(t))
	q, err := queue.NewJetStream(conn, lease)
	require.NoError(t, err)
	r, err := q.Records(limited(t))
	require.NoError(t, err)
	return q, r, streamsOf(t, conn)
}

// TestClaims claims a run several times at once: one claim wins, each time.
func TestClaims(t *testing.T) {
	_, r, _ := openRecords(t, time.Hour)
	var after *queue.Claim
	for round := range 3 {
		var mu sync.Mutex
		var got []*queue.Claim
		var claiming sync.WaitGroup
		for i := range 4 {
			claiming.Go(func() {
				c, err := r.Claim(limited(t), "01", fmt.Appendf(nil, "round %d by %d", round, i), after)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got = append(got, c)
					return
				}
				require.ErrorIs(t, err, queue.ErrTaken)
			})
		}
		claiming.Wait()
		require.Len(t, got, 1)
		after = got[0]
		all, now, err := r.Claims(limited(t))
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, after.Data, all[0].Data)
		require.NotContains(t, all[0].Name, "01 ")
		require.True(t, r.Holds(all[0], now))
		require.False(t, r.Holds(all[0], now.Add(2*time.Hour)))
	}
	require.NoError(t, r.Forget(limited(t), "01"))
	all, _, err := r.Claims(limited(t))
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = r.Claim(limited(t), "01", nil, after) // a deleted claim counts as taken
	require.ErrorIs(t, err, queue.ErrTaken)
}

// TestRecords copies a record, which one reader follows, until it is closed and deleted.
func TestRecords(t *testing.T) {
	_, r, js := openRecords(t, 0)
	ctx := limited(t)
	require.ErrorIs(t, r.Append(ctx, "01", nil), queue.ErrGone)
	require.ErrorIs(t, r.Read(ctx, "01", false, nil), queue.ErrGone)
	require.NoError(t, r.Make(ctx, "01"))
	require.NoError(t, r.Read(ctx, "01", false, nil), "there is nothing in it")
	heard := make(chan string)
	read := make(chan error, 1)
	go func() {
		read <- r.Read(ctx, "01", true, func(data []byte) (bool, error) {
			heard <- string(data)
			return true, nil
		})
	}()
	for i := range 3 {
		require.NoError(t, r.Append(ctx, "01", fmt.Append(nil, i)))
		require.Equal(t, fmt.Sprint(i), <-heard)
	}
	before := names(t, js)
	require.NoError(t, r.Make(ctx, "02"))
	made := slices.DeleteFunc(names(t, js), func(name string) bool { return slices.Contains(before, name) })
	require.Len(t, made, 1)
	for range 2 {
		require.NoError(t, r.Append(ctx, "02", nil))
	}
	of, err := js.Stream(ctx, made[0])
	require.NoError(t, err)
	require.NoError(t, of.Purge(ctx, jetstream.WithPurgeKeep(1)))
	require.ErrorIs(t, r.Read(ctx, "02", true, nil), queue.ErrCut)
	require.NoError(t, r.Forget(ctx, "02"))
	n, err := r.Readers(ctx, "01")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, r.End(ctx, "01"))
	require.ErrorIs(t, r.Append(ctx, "01", nil), queue.ErrTaken)
	seen := 0
	require.NoError(t, r.Read(ctx, "01", false, func(data []byte) (bool, error) {
		require.Equal(t, fmt.Sprint(seen), string(data))
		seen++
		return true, nil
	}))
	require.Equal(t, 3, seen)
	n, err = r.Readers(ctx, "01")
	require.NoError(t, err)
	require.Equal(t, 1, n, "a reader that has left is not waited for")
	require.NoError(t, r.Forget(ctx, "01"))
	require.ErrorIs(t, <-read, queue.ErrGone)
}

// TestSweep deletes exactly the data that were not used for KeptTime.
func TestSweep(t *testing.T) {
	q, r, js := openRecords(t, 0)
	ctx := limited(t)
	require.NoError(t, r.Make(ctx, "01"))
	require.NoError(t, r.Append(ctx, "01", []byte("x")))
	_, err := q.Open(ctx, "left")
	require.NoError(t, err)
	want := names(t, js)
	require.Len(t, want, 6) // tickets, workers, claims, the record, what workers say, objects
	require.NoError(t, q.Sweep(ctx, time.Now().Add(queue.KeptTime-time.Hour)))
	require.ElementsMatch(t, want, names(t, js))
	require.NoError(t, q.Sweep(ctx, time.Now().Add(queue.KeptTime+time.Hour)))
	require.ElementsMatch(t, []string{queue.PresenceStream, queue.WorkStream, "KV_ccm-push-runs"}, names(t, js))
}
