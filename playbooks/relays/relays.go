package relays

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// Options are the inputs of a run for relays.
type Options struct {
	Authority *usercert.Authority // authority that hosts trust
	Dial      func(ctx context.Context, h *inventory.Host) (*transport.Client, error)
	Members   func() []Member // returns the hosts of the run; called when the first of them lacks the program
	NewNonce  func() string
	// First receives one host of each site when the first host of the run lacks the program: these hosts should start
	// soon, since the way to their relay takes long.
	First func(hosts []string)
	Run   string            // id, for the logs of hosts
	Warn  func(text string) // receives the same text for each host that it concerns
}

// A Member is a host of the run that can be delivered to.
type Member struct {
	Host       string
	User       string            // login user
	Site       string            // site of the host; empty means none
	Candidates []*inventory.Host // candidates for its relay, in order
}

// Relays are the relays of a run. A nil Relays has none.
type Relays struct {
	options Options
	sites   func() map[string]*site // by host
	asked   atomic.Bool             // there are sites
	off     atomic.Bool             // the authority certifies no relay
}

// New returns the relays of a run. The caller must close them.
func New(o Options) *Relays {
	r := &Relays{options: o}
	r.sites = sync.OnceValue(func() map[string]*site {
		members := o.Members()
		sites := r.sitesOf(members)
		o.First(oneOfEach(members, sites))
		return sites
	})
	return r
}

// oneOfEach returns a host of each site.
func oneOfEach(members []Member, sites map[string]*site) (hosts []string) {
	met := map[*site]bool{}
	for _, m := range members {
		if s := sites[m.Host]; s != nil && !met[s] {
			met[s] = true
			hosts = append(hosts, m.Host)
		}
	}
	return hosts
}

// sitesOf returns the site of each host that has one. A site of one host does not count, since it would save nothing.
func (r *Relays) sitesOf(members []Member) map[string]*site {
	byCandidates, byFirst, sites := map[string]*site{}, map[string]*site{}, map[string]*site{}
	for _, m := range members {
		if len(m.Candidates) == 0 {
			continue
		}
		key := namesOf(m.Candidates)
		s := byCandidates[key]
		if s == nil {
			s = &site{relays: r, candidates: m.Candidates}
			byCandidates[key] = s
			if first := m.Candidates[0].Name; byFirst[first] == nil {
				byFirst[first] = s
			}
		}
		s.add(m)
		sites[m.Host] = s
	}
	// A jump host has no jump host before it, and shares its copy with the hosts that are reached through it.
	for _, m := range members {
		if s := byFirst[m.Host]; s != nil && sites[m.Host] == nil {
			s.add(m)
			sites[m.Host] = s
		}
	}
	for host, s := range sites {
		if s.hosts < 2 {
			delete(sites, host)
		}
	}
	return sites
}

func namesOf(hosts []*inventory.Host) string {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = h.Name
	}
	return strings.Join(list, " ")
}

// Bring has the relay of a host copy a build to it, and returns the path there, for [start.Request]; "" if the
// controller must send it. sent receives the progress of sending it to the relay.
func (r *Relays) Bring(ctx context.Context, host string, c *transport.Client, b start.Build, sent func(n, size int64)) (path string) {
	if r == nil || r.off.Load() {
		return ""
	}
	r.asked.Store(true)
	if s := r.sites()[host]; s != nil {
		return s.bring(ctx, delivery{host, c, b, sent})
	}
	return ""
}

// Refused records that the file that a relay copied to a host was not the build.
func (r *Relays) Refused(host string) {
	if s := r.sites()[host]; s != nil {
		s.refused(host)
	}
}

// Close ends all relays, which remove their keys.
func (r *Relays) Close() {
	if r == nil || !r.asked.Load() {
		return
	}
	r.off.Store(true)
	for _, s := range r.sites() {
		s.close()
	}
}

// errAuthority wraps why the authority has certified no relay.
var errAuthority = errors.New("no host is a relay in this run")

// giveUp has no relay any more.
func (r *Relays) giveUp(err error) {
	r.off.Store(true)
	r.options.Warn(err.Error())
}

// cause is why something failed, without the host and in one line.
func cause(err error) string {
	if e, ok := errors.AsType[*transport.HostError](err); ok {
		return e.Cause()
	}
	return err.Error()
}

// A delivery is a build that a host lacks.
type delivery struct {
	host  string
	to    *transport.Client
	build start.Build
	sent  func(n, size int64)
}

// certificateID returns the id of a relay's certificate, which sshd logs.
func (r *Relays) certificateID(relay string) string {
	return fmt.Sprintf("ccm-push:%s:relay:%s", r.options.Run, relay)
}
