package playbooks

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
)

// A Stranger is a host that is asked for its keys.
type Stranger struct {
	Target transport.Target
	// For is a host that is reached through this one, if it was not selected itself
	// but is a jump host that is not known; "" otherwise.
	For string

	Scan transport.Scan
	Err  error // why there is none; a [transport.HostError]
}

// Strangers are the hosts whose keys may have to be trusted, in rounds: those that
// are reached directly, those behind one jump host, and so on. A jump host is
// logged in to, so its key must be trusted before those behind it are asked. A
// host of which nothing is known counts in the first round that it belongs to.
func (r *Runner) Strangers(hosts []*inventory.Host) ([][]Stranger, error) {
	s := strangers{Runner: r, met: map[string]bool{}}
	targets := make([]transport.Target, len(hosts))
	for i, h := range hosts {
		target, err := r.target(h)
		if err != nil {
			return nil, err
		}
		if target.Local {
			continue // there is nobody to mistake it for
		}
		targets[i] = target
		s.add(len(target.Jump), Stranger{Target: target})
	}
	for _, t := range targets {
		for n, hop := range t.Jump {
			hop.Jump = t.Jump[:n]
			known, err := r.Dialer.IsKnown(hop)
			if err != nil {
				return nil, err
			}
			if !known {
				s.add(n, Stranger{Target: hop, For: t.Host})
			}
		}
	}
	return s.rounds, nil
}

type strangers struct {
	*Runner
	met    map[string]bool // by file and name in it
	rounds [][]Stranger
}

// add takes each entry of a known_hosts file once.
func (s *strangers) add(round int, one Stranger) {
	id := s.Dialer.TrustFile(one.Target) + "\x00" + one.Target.KnownName()
	if one.For == "" {
		id += "\x00" + one.Target.Host // two names for one host are both answered
	} else if s.met[id] {
		return
	}
	s.met[id], s.met[s.Dialer.TrustFile(one.Target)+"\x00"+one.Target.KnownName()] = true, true
	for len(s.rounds) <= round {
		s.rounds = append(s.rounds, nil)
	}
	s.rounds[round] = append(s.rounds[round], one)
}

// AskKeys asks hosts for their keys, as many at once as the run may, and notes the
// answers.
func (r *Runner) AskKeys(ctx context.Context, hosts []Stranger) {
	var g errgroup.Group
	g.SetLimit(r.forks())
	for i := range hosts {
		g.Go(func() error {
			if hosts[i].Err = ctx.Err(); hosts[i].Err == nil {
				hosts[i].Scan, hosts[i].Err = r.Dialer.Scan(ctx, hosts[i].Target)
			}
			return nil
		})
	}
	g.Wait()
}

// target says how a host of the inventory is reached.
func (r *Runner) target(h *inventory.Host) (transport.Target, error) {
	return r.Connect.Target(r.Inventory, h, h.Connection())
}

// Passes reports whether the way to a host leads over a jump host.
func (r *Runner) Passes(h *inventory.Host, hop transport.Target) bool {
	t, err := r.target(h)
	return err == nil && slices.ContainsFunc(t.Jump, func(one transport.Target) bool {
		return one.Host == hop.Host && one.KnownName() == hop.KnownName()
	})
}
