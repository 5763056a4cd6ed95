package start

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// An idleTimeout ends a context when nothing has moved for a while.
type idleTimeout struct {
	limit atomic.Int64 // as a time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

// withIdleTimeout returns a context that ends with [transport.ErrTimeout] after limit without progress. The caller must
// stop the timeout.
func withIdleTimeout(ctx context.Context, limit time.Duration) (context.Context, *idleTimeout) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &idleTimeout{end: cancel}
	t.limit.Store(int64(limit))
	t.timer = time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w after %s", transport.ErrTimeout, time.Duration(t.limit.Load()))) })
	return ctx, t
}

// progress restarts the timer. It may be called from any goroutine.
func (t *idleTimeout) progress() { t.timer.Reset(time.Duration(t.limit.Load())) }

// allow is progress, and changes how long the next waits may take.
func (t *idleTimeout) allow(limit time.Duration) {
	t.limit.Store(int64(limit))
	t.progress()
}

func (t *idleTimeout) stop() {
	t.timer.Stop()
	t.end(nil)
}

// writeChunk is the number of bytes between two reports of progress.
const writeChunk = 32 << 10

// write sends header and then b, no faster than p allows. It sends in chunks, and each chunk is progress. It reports to
// sent how much of b has been written.
func (t *idleTimeout) write(w io.Writer, p pace, header string, b []byte, sent func(n, size int64)) error {
	size := int64(len(b))
	sent(0, size)
	if _, err := io.WriteString(w, header); err != nil {
		return err
	}
	p.sent(0)
	for len(b) > 0 {
		n, err := w.Write(b[:min(len(b), writeChunk)])
		if err != nil {
			return err
		}
		b = b[n:]
		t.progress()
		p.sent(n)
		sent(size-int64(len(b)), size)
	}
	return nil
}

// A movingReader makes each read progress.
type movingReader struct {
	r        io.Reader
	progress func()
}

func (m movingReader) Read(b []byte) (int, error) {
	m.progress()
	return m.r.Read(b)
}
