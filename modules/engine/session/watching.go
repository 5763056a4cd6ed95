package session

import (
	"context"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Watching keeps catalogs under watch; see [wire.Watch].
type Watching interface {
	// Run runs a catalog with a Watch on an engine. It ends the reports about the previous catalog of the same play.
	Run(ctx context.Context, e *engine.Engine, cat *wire.Catalog, emit func(*wire.Result) error) (stopped bool, err error)
	// Begin starts the reports about the last catalog, if it was not stopped.
	Begin()
	// Serve works until ctx ends, or nothing can be reported any more.
	Serve(ctx context.Context)
}

// A Controller is the other end of a session, for messages at any time.
type Controller struct {
	conn  *wire.Conn
	ended <-chan struct{} // closed when it is gone
}

// Tell reports watch results. Only this goroutine waits for a slow controller, until the connection ends.
func (c *Controller) Tell(list []*wire.Watched) error {
	out := &outbox{conn: c.conn, ended: c.ended, keep: func() error { return nil }}
	for _, w := range list {
		if err := out.put(&wire.Message{Watched: w}); err != nil {
			return err
		}
	}
	return out.flush()
}
