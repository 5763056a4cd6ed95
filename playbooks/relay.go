package playbooks

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/relays"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// siteVariable is the variable of the inventory with the site of a host.
const siteVariable = "site"

// SiteOf returns the site of a host, or "".
func SiteOf(h *inventory.Host) string {
	site, _ := h.Vars()[siteVariable].(string)
	return site
}

// openRelays has hosts of a run that lack the host program get it from their relays, which closeRelays ends.
func (r *Runner) openRelays(hosts []*inventory.Host) {
	if r.Authority == nil {
		return
	}
	queue := &atomic.Pointer[share.Queue]{}
	r.queue = queue
	r.relays = relays.New(relays.Options{
		Authority: r.Authority, NewNonce: r.NewNonce, Run: r.Options.Run, Warn: r.warn,
		Dial:    func(ctx context.Context, h *inventory.Host) (*transport.Client, error) { return r.dial(ctx, h, nil) },
		Members: func() []relays.Member { return r.relayed(hosts) },
		First: func(hosts []string) {
			if q := queue.Load(); q != nil {
				q.First(hosts)
			}
		},
	})
}

func (r *Runner) closeRelays() {
	r.relays.Close()
	r.relays, r.queue = nil, nil
}

// relayed returns the hosts to which a relay may deliver, each once. The candidates are set by the inventory, or else
// are the last jump host, if the inventory has that host.
func (r *Runner) relayed(hosts []*inventory.Host) (list []relays.Member) {
	met := map[*inventory.Host]bool{}
	for _, h := range hosts {
		if met[h] {
			continue
		}
		met[h] = true
		conn := h.Connection()
		t, err := r.Connect.Target(r.Inventory, h, conn)
		if err != nil || t.Local || t.ProxyCommand != "" {
			continue
		}
		candidates, said := r.Inventory.Relays(conn)
		if n := len(t.Jump); !said && n > 0 {
			if gate := r.Inventory.Host(t.Jump[n-1].Host); gate != nil {
				candidates = []*inventory.Host{gate}
			}
		}
		candidates = slices.DeleteFunc(candidates, func(c *inventory.Host) bool { return c.Connection().Local })
		list = append(list, relays.Member{Host: h.Name, User: t.User, Site: SiteOf(h), Candidates: candidates})
	}
	return list
}

// near returns a function that sends the host program to a host through its relay; nil if there are no relays. judge
// receives the started program: a relay may have delivered other bytes than it received.
func (r *Runner) near(ctx context.Context, host string, c *transport.Client, state *hostState) (near func(start.Build) string, judge func(*start.Process)) {
	if r.relays == nil {
		return nil, func(*start.Process) {}
	}
	brought := false
	near = func(b start.Build) string {
		defer state.apart()()
		path := r.relays.Bring(ctx, host, c, b, state.sent)
		brought = path != ""
		return path
	}
	return near, func(p *start.Process) {
		if brought && p.Uploaded {
			r.relays.Refused(host)
		}
	}
}

// sent notes how much of the host program is on its way to a host, or for it to its relay. A nil state notes nothing.
func (s *hostState) sent(n, size int64) {
	if s != nil {
		s.in.Keep()
		s.activity.Sent(n, size)
	}
}

// apart has a host wait for its relay; see [share.WayIn.Apart].
func (s *hostState) apart() (back func()) {
	if s == nil {
		return func() {}
	}
	s.activity.At("waiting for its relay")
	again := s.in.Apart()
	return func() {
		s.activity.At(startingProgram)
		again()
	}
}
