package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A packetLog counts the writes.
type packetLog struct {
	bytes.Buffer
	pieces atomic.Int32
}

func (l *packetLog) Write(b []byte) (int, error) {
	l.pieces.Add(1)
	return l.Buffer.Write(b)
}

// results reads n results.
func (l *packetLog) results(t *testing.T, n int) (indexes []int) {
	conn := wire.NewConn(bufio.NewReader(&l.Buffer), nil, wire.MaxFromHost)
	for range n {
		m, err := conn.Receive()
		require.NoError(t, err)
		indexes = append(indexes, m.Result.Index)
	}
	return indexes
}

// Results of changes, which take some milliseconds each, travel together; what another host may be
// waiting for takes those before it along at once.
func TestOutboxSendsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log packetLog
		out := &outbox{conn: wire.NewConn(bufio.NewReader(strings.NewReader("")), &log, wire.MaxFromController), keep: func() error { return nil }}
		put := func(r wire.Result) {
			require.NoError(t, out.put(&wire.Message{Result: &r}))
		}
		for i := range 8 {
			put(wire.Result{Index: i, Status: wire.Changed})
			time.Sleep(2 * time.Millisecond)
		}
		require.Zero(t, log.pieces.Load())
		time.Sleep(outboxWait)
		synctest.Wait()
		require.Equal(t, 1, int(log.pieces.Load()))
		put(wire.Result{Index: 8, Status: wire.Changed})
		put(wire.Result{Index: 9, Status: wire.Changed, Sent: map[string]json.RawMessage{"port": json.RawMessage("80")}})
		synctest.Wait()
		require.Equal(t, 2, int(log.pieces.Load()))
		require.NoError(t, out.flush())
		require.Equal(t, 2, int(log.pieces.Load()))
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, log.results(t, 10))
	})
}
