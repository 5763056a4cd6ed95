package session

import (
	"context"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Watching keeps catalogs under watch; see [wire.Watch].
type Watching interface {
	// Run is that of an engine, for a catalog with a Watch. Of the one before of the same play
	// nothing is told any more.
	Run(ctx context.Context, e *engine.Engine, cat *wire.Catalog, emit func(*wire.Result) error) (stopped bool, err error)
	// Begin has it told what becomes of the catalog that was run last, if it was not stopped.
	Begin()
	// Serve works until ctx ends, or nothing can be told any more.
	Serve(ctx context.Context)
}

// A Controller is the other end of a session, for who has something to say at any time.
type Controller struct {
	conn  *wire.Conn
	ended <-chan struct{} // closed when it is gone
}

// Tell tells what has become of catalogs. A controller that does not read holds up this alone, and
// no longer than it is there.
func (c *Controller) Tell(list []*wire.Watched) error {
	out := &outbox{conn: c.conn, ended: c.ended, keep: func() error { return nil }}
	for _, w := range list {
		if err := out.put(&wire.Message{Watched: w}); err != nil {
			return err
		}
	}
	return out.flush()
}
