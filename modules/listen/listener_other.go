//go:build !linux

package listen

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// A Listener hears nothing on this system.
type Listener struct {
	hints chan Hint
	close func()
}

// New returns a Listener.
func New(func(string)) (*Listener, error) {
	l := &Listener{hints: make(chan Hint)}
	l.close = sync.OnceFunc(func() { close(l.hints) })
	return l, nil
}

// Listen returns for each source the reason why it is polled.
func (l *Listener) Listen(ctx context.Context, sources []modules.Sources) ([]string, error) {
	polled := make([]string, len(sources))
	for i := range polled {
		polled[i] = "nothing is heard on " + runtime.GOOS
	}
	return polled, ctx.Err()
}

// Hints returns a channel without hints. Close closes it.
func (l *Listener) Hints() <-chan Hint { return l.hints }

// Drain never waits, since there are no events.
func (l *Listener) Drain(ctx context.Context) error { return ctx.Err() }

// Close ends Hints.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// ErrClosed is the error of a closed Listener.
var ErrClosed = errors.New("the listener is closed")
