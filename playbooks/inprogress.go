package playbooks

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// What is in progress on a host outlives the connection to it, its host program and this process: the resource keeps
// its semaphores until the host has reported, and the record knows where it has begun.

// claiming returns the turns of a catalog's entries on the host.
func (p *hostPlay) claiming(ctx context.Context, compiled *catalog.Compiled) *share.Turns {
	if p.asks == nil {
		return share.NewTurns(func(_ int, claims []share.Claim) *share.Turn { return p.semaphores.Request(claims) })
	}
	return share.NewTurns(func(index int, _ []share.Claim) *share.Turn {
		e := &compiled.Catalog.Entries[index]
		return p.asks.claim(ctx, p.state.host.Name, &Claims{
			Index: index, Semaphores: e.Sema, Type: e.Type, Name: e.Name, Alias: e.Alias, Within: p.runner.within(compiled, index),
		})
	})
}

// granted records that the host holds the semaphores of an entry from now on.
func (g *stages) granted(index int) {
	if g.asks != nil { // it is recorded where they were granted
		return
	}
	e := &g.compiled.Catalog.Entries[index]
	g.started(events.ResourceStart{
		Play: g.of.play.Name, Host: g.state.host.Name, Type: e.Type, Name: e.Name, Alias: e.Alias, Semaphores: e.Sema, Within: g.runner.within(g.compiled, index),
	})
}

// started records that a resource may begin on a host from now on. It returns once that is in the record.
func (f *fleet) started(e events.ResourceStart) {
	if len(e.Semaphores) == 1 && e.Semaphores[0] == stepSemaphore {
		return
	}
	f.runner.Events.Report(e)
	f.runner.Events.Sync()
}

// begins records that a resource which runs once may begin for a host.
func (f *fleet) begins(s *selection, host, resource string) {
	if !f.runner.applies() || s.look != nil {
		return
	}
	_, ref, _ := strings.Cut(resource, " ")
	kind, name, _ := strings.Cut(ref, "#")
	f.started(events.ResourceStart{Play: s.play.Name, Host: host, Type: kind, Name: name, Once: resource})
}

// abandon gives the host up, with what is in progress there.
func (g *stages) abandon() {
	g.turns.Abandon(g.state.host.Name, func(index int) (what string, within time.Duration) {
		return g.givenUp(g.state.host.Name, g.compiled, index)
	})
}

// givenUp returns the resource of an entry on a host that was given up, and its deadline.
func (f *fleet) givenUp(host string, c *catalog.Compiled, entry int) (what string, within time.Duration) {
	e := &c.Catalog.Entries[entry]
	what, within = e.Ref(), f.runner.within(c, entry)
	if f.asks == nil {
		f.abandoned(host, what, e.Sema, within)
	}
	return what, within
}

// abandoned warns that semaphores stay taken.
func (f *fleet) abandoned(host, what string, semaphores []string, within time.Duration) {
	names := strings.Join(semaphores, ", ")
	if within > 0 {
		f.runner.warn(fmt.Sprintf("%s was lost in %s: it may hold the semaphore %s, which is free again in %v (timeout)", host, what, names, within))
	} else {
		f.runner.warn(fmt.Sprintf("%s was lost in %s: it may hold the semaphore %s until it is back; a timeout of the resource would free it", host, what, names))
	}
}

// within returns how long an entry may be in progress on a host that was given up; 0 is without a deadline. The host
// ends the entry by its own clock: within its deadline after its last try began, which is at the latest when the host
// notices that it hears nothing of the controller any more.
func (r *Runner) within(c *catalog.Compiled, entry int) time.Duration {
	limit := c.Deadline(entry)
	if limit == 0 {
		return 0
	}
	return limit + cmp.Or(r.Options.IdleTimeout, wire.IdleTimeout) + killTime
}

// killTime is what a host may need to end a command whose time is over.
const killTime = 5 * time.Second
