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

// Options are what relays need of a run.
type Options struct {
	Authority *usercert.Authority // that hosts trust
	Dial      func(ctx context.Context, h *inventory.Host) (*transport.Client, error)
	Members   func() []Member // the hosts of the run; asked when the first of them lacks the program
	NewNonce  func() string
	// First is told one host of each site when the first host of the run lacks the program: whatever they lack had
	// better be known soon, since its way to their relay takes long.
	First func(hosts []string)
	Run   string            // id, for the logs of hosts
	Warn  func(text string) // is told the same for each host that it concerns
}

// A Member is a host of the run that can be delivered to.
type Member struct {
	Host       string
	User       string            // who logs in
	Site       string            // of the host; "" is none
	Candidates []*inventory.Host // for its relay, in order
}

// Relays are those of a run. A nil one has none.
type Relays struct {
	options Options
	sites   func() map[string]*site // by host
	asked   atomic.Bool             // there are sites
	off     atomic.Bool             // the authority certifies no relay
}

// New gives the relays of a run, which must be closed.
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

// oneOfEach gives a host of each site.
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

// sitesOf gives the site of each host that has one. A site of one host is none, since nothing would be saved.
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
	// A jump host is behind none, and shares what it is sent with the hosts behind it.
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

// Bring has the relay of a host bring it a build, and gives the path where it is then, for [start.Request]; "" if the
// host is to be sent it. sent is told how much of it is on its way to the relay.
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

// Refused says that what a relay has brought to a host was not what it had been sent.
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

// certificateID is what sshd logs of a relay's certificate.
func (r *Relays) certificateID(relay string) string {
	return fmt.Sprintf("ccm-push:%s:relay:%s", r.options.Run, relay)
}
