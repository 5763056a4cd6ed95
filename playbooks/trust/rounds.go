package trust

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// defaultForks is the number of hosts that show their keys at once. A host does so once in its life.
const defaultForks = 64

// A Fleet is the hosts of an inventory, and how they are reached.
type Fleet struct {
	Inventory *inventory.Inventory
	Connect   reach.Options
	Dialer    *dial.Dialer
	Forks     int // number of hosts at once; 0 means 64
}

// target returns the target of a host of the inventory.
func (f *Fleet) target(h *inventory.Host) (transport.Target, error) {
	return f.Connect.Target(f.Inventory, h, h.Connection())
}

// Selectable returns a host of the inventory that leads [Enrol] to a target: the target itself or, if the target is a
// jump host that the inventory does not have, a host that is reached through it.
func (f *Fleet) Selectable(t transport.Target) string {
	if f.Inventory.Host(t.Host) != nil {
		return t.Host
	}
	for _, h := range f.Inventory.Hosts() {
		if f.passes(h, t) {
			return h.Name
		}
	}
	return t.Host
}

// passes reports whether the route to a host leads over a jump host.
func (f *Fleet) passes(h *inventory.Host, hop transport.Target) bool {
	t, err := f.target(h)
	return err == nil && slices.ContainsFunc(t.Jump, func(one transport.Target) bool {
		return one.Host == hop.Host && one.KnownName() == hop.KnownName()
	})
}

// A candidate is a host whose keys are requested.
type candidate struct {
	target transport.Target
	// jumpFor is a host that is reached through this one, if this one is an unknown jump host that was not selected
	// itself; empty otherwise.
	jumpFor string

	scan dial.Scan
	err  error // why there is no scan; a [transport.HostError]
}

// rounds returns the hosts whose keys may have to be trusted, in the order in which they can be scanned: hosts that are
// reached directly, hosts after one jump host, and so on. ccm-push logs in to a jump host, so its key must be trusted
// before the hosts after it are scanned. An unknown host counts in its first round.
func (f *Fleet) rounds(hosts []*inventory.Host) ([][]candidate, error) {
	r := rounds{dialer: f.Dialer, met: map[string]bool{}}
	targets := make([]transport.Target, len(hosts))
	for i, h := range hosts {
		target, err := f.target(h)
		if err != nil {
			return nil, err
		}
		if target.Local {
			continue // it cannot be mistaken for another host
		}
		targets[i] = target
		r.add(len(target.Jump), candidate{target: target})
	}
	for _, t := range targets {
		for n, hop := range t.Jump {
			hop.Jump = t.Jump[:n]
			known, err := f.Dialer.IsKnown(hop)
			if err != nil {
				return nil, err
			}
			if !known {
				r.add(n, candidate{target: hop, jumpFor: t.Host})
			}
		}
	}
	return r.list, nil
}

type rounds struct {
	dialer *dial.Dialer
	met    map[string]bool // hosts by file and name in it
	list   [][]candidate
}

// add takes each entry of a known_hosts file once.
func (r *rounds) add(round int, one candidate) {
	entry := r.dialer.TrustFile(one.target) + "\x00" + one.target.KnownName()
	id := entry
	if one.jumpFor == "" {
		id += "\x00" + one.target.Host // two names for one host are both answered
	} else if r.met[id] {
		return
	}
	r.met[id], r.met[entry] = true, true
	for len(r.list) <= round {
		r.list = append(r.list, nil)
	}
	r.list[round] = append(r.list[round], one)
}

// scan requests the keys of the hosts of a round, and records the answers.
func (f *Fleet) scan(ctx context.Context, round []candidate) {
	var g errgroup.Group
	g.SetLimit(cmp.Or(f.Forks, defaultForks))
	for i := range round {
		g.Go(func() error {
			if round[i].err = ctx.Err(); round[i].err == nil {
				round[i].scan, round[i].err = f.Dialer.Scan(ctx, round[i].target)
			}
			return nil
		})
	}
	g.Wait()
}
