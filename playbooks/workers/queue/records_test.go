package queue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func openRecords(t *testing.T, lease time.Duration) (*JetStream, *Records) {
	t.Helper()
	q, err := NewJetStream(connect(t, serve(t)), lease)
	require.NoError(t, err)
	r, err := q.Records(limited(t))
	require.NoError(t, err)
	return q, r
}

// TestClaims has a run claimed by several at once: one of them gets it, each time.
func TestClaims(t *testing.T) {
	_, r := openRecords(t, time.Hour)
	var after *Claim
	for round := range 3 {
		var mu sync.Mutex
		var got []*Claim
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
				require.ErrorIs(t, err, ErrTaken)
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
	_, err = r.Claim(limited(t), "01", nil, after) // it is gone, which is as if it were taken
	require.ErrorIs(t, err, ErrTaken)
}

// TestRecords copies a record, which one reader follows, until it is closed and deleted.
func TestRecords(t *testing.T) {
	_, r := openRecords(t, 0)
	ctx := limited(t)
	require.ErrorIs(t, r.Append(ctx, "01", nil), ErrGone)
	require.ErrorIs(t, r.Read(ctx, "01", false, nil), ErrGone)
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
	require.NoError(t, r.Make(ctx, "02"))
	for range 2 {
		require.NoError(t, r.Append(ctx, "02", nil))
	}
	of, err := r.queue.js.Stream(ctx, RecordStream+hashed("02"))
	require.NoError(t, err)
	require.NoError(t, of.Purge(ctx, jetstream.WithPurgeKeep(1)))
	require.ErrorIs(t, r.Read(ctx, "02", true, nil), ErrCut)
	require.NoError(t, r.Forget(ctx, "02"))
	n, err := r.Readers(ctx, "01")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, r.End(ctx, "01"))
	require.ErrorIs(t, r.Append(ctx, "01", nil), ErrTaken)
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
	require.ErrorIs(t, <-read, ErrGone)
}

// TestSweep deletes what nobody has used for as long as anything is kept, and no more.
func TestSweep(t *testing.T) {
	q, r := openRecords(t, 0)
	ctx := limited(t)
	require.NoError(t, r.Make(ctx, "01"))
	require.NoError(t, r.Append(ctx, "01", []byte("x")))
	_, err := q.Open(ctx, "left")
	require.NoError(t, err)
	streams := func() (names []string) {
		for name := range q.js.StreamNames(ctx).Name() {
			names = append(names, name)
		}
		return names
	}
	want := streams()
	require.Len(t, want, 6) // tickets, workers, claims, the record, what workers say, objects
	require.NoError(t, q.Sweep(ctx, time.Now().Add(KeptTime-time.Hour)))
	require.ElementsMatch(t, want, streams())
	require.NoError(t, q.Sweep(ctx, time.Now().Add(KeptTime+time.Hour)))
	require.ElementsMatch(t, []string{PresenceStream, workStream, "KV_" + claimBucket}, streams())
}
