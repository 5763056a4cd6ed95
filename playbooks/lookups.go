package playbooks

import (
	"context"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/templates"
)

// Lookups give what functions of templates ask NATS for.
type Lookups interface {
	// Reach reports why NATS cannot be asked, or nil.
	Reach(ctx context.Context) error
	// Snapshot gives what all hosts of a play are told alike.
	Snapshot() templates.NATS
}

// snapshot is what the hosts of a play are told; nil is nothing.
func (r *Runner) snapshot() templates.NATS {
	if r.Lookups == nil {
		return nil
	}
	return r.Lookups.Snapshot()
}

// checkLookups reports all places of a play that ask NATS where none is given. Of a worker's plays
// that has been found out before.
func (r *Runner) checkLookups(c *catalog.Compiler) error {
	if r.Lookups != nil {
		return nil
	}
	var errs []error
	for _, call := range c.NATSCalls() {
		errs = append(errs, templates.NoNATS(call))
	}
	return together(errs...)
}

// reachLookups reports that NATS cannot be asked, where the first play asks it.
func (r *Runner) reachLookups(ctx context.Context, compilers []*catalog.Compiler) error {
	for _, c := range compilers {
		calls := c.NATSCalls()
		if len(calls) == 0 {
			continue
		}
		if err := r.Lookups.Reach(ctx); err != nil {
			return templates.NATSFailed(calls[0], err)
		}
		return nil
	}
	return nil
}
