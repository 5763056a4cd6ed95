package transport

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// patience is a context that ends when nothing has moved for a while.
type patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  atomic.Int64 // as a time.Duration
	timer  *time.Timer
}

func newPatience(ctx context.Context, limit time.Duration) *patience {
	p := &patience{}
	p.limit.Store(int64(limit))
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.timer = time.AfterFunc(limit, func() { p.cancel(fmt.Errorf("%w after %s", ErrTimeout, time.Duration(p.limit.Load()))) })
	return p
}

// progress begins the wait anew. It may be called from any goroutine.
func (p *patience) progress() { p.timer.Reset(time.Duration(p.limit.Load())) }

// allow is progress, and changes how long the next waits may take.
func (p *patience) allow(limit time.Duration) {
	p.limit.Store(int64(limit))
	p.progress()
}

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// writeChunk is how much is sent between two signs of progress, in bytes.
const writeChunk = 32 << 10

// write sends some text, and b behind it, in chunks, each of which is progress.
func (p *patience) write(w io.Writer, header string, b []byte) error {
	if _, err := io.WriteString(w, header); err != nil {
		return err
	}
	for len(b) > 0 {
		n, err := w.Write(b[:min(len(b), writeChunk)])
		if err != nil {
			return err
		}
		b = b[n:]
		p.progress()
	}
	return nil
}
