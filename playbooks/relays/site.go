package relays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/relay"
	"github.com/ccm-push/ccm-push/transport/start"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// A site is hosts with the same candidates for their relay.
type site struct {
	relays     *Relays
	candidates []*inventory.Host
	principals []string // login users of its hosts
	hosts      int

	mu      sync.Mutex
	tried   int   // number of tried candidates
	current *post // nil before the first, and if none remains
	told    bool  // a failed delivery was reported
}

// A post is a relay that is open.
type post struct {
	site     *site
	relay    *relay.Relay
	host     string
	mu       sync.Mutex
	contents map[string]*content // contents by the hash of the build
	// How many hosts have been delivered to, and how many others not.
	delivered, failed int
}

// A content is a build on its way through a relay.
type content struct {
	mu    sync.Mutex // held while the relay takes it, and while its certificate is made
	path  string     // where the relay has it; "" before
	cert  *ssh.Certificate
	until time.Time // when the certificate is too old
}

func (s *site) add(m Member) {
	s.hosts++
	for _, name := range []string{m.User, usercert.Principal(m.User, m.Site)} {
		if name != "" && !slices.Contains(s.principals, name) {
			s.principals = append(s.principals, name)
		}
	}
}

// bring has a relay of the site deliver, and the next one if that one cannot.
func (s *site) bring(ctx context.Context, d delivery) (path string) {
	for {
		p := s.post(ctx)
		if p == nil {
			return ""
		}
		path, err := p.bring(ctx, d)
		switch {
		case err == nil:
			return path
		case ctx.Err() != nil:
			return ""
		case errors.Is(err, errAuthority):
			s.relays.giveUp(err)
			return ""
		case p.over(err):
			s.drop(p, cause(err))
			continue
		}
		s.tell(p, d.host, err)
		return ""
	}
}

// post returns the relay of the site, and opens it if needed; nil if no candidate works. Meanwhile, all hosts of the
// site wait.
func (s *site) post(ctx context.Context) *post {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.current == nil && s.tried < len(s.candidates) && ctx.Err() == nil && !s.relays.off.Load() {
		host := s.candidates[s.tried]
		opened, err := s.open(ctx, host)
		switch {
		case err == nil:
			s.current = &post{site: s, relay: opened, host: host.Name, contents: map[string]*content{}}
		case ctx.Err() == nil:
			s.tried++
			s.relays.options.Warn(fmt.Sprintf("relay %s is not used: %s", host.Name, cause(err)))
		}
	}
	return s.current
}

func (s *site) open(ctx context.Context, host *inventory.Host) (*relay.Relay, error) {
	c, err := s.relays.options.Dial(ctx, host)
	if err != nil {
		return nil, err
	}
	return relay.Open(ctx, c, s.relays.options.NewNonce())
}

// drop has a relay be none any more.
func (s *site) drop(p *post, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != p { // another host was faster
		return
	}
	s.current = nil
	s.tried++
	p.relay.Close()
	s.relays.options.Warn(fmt.Sprintf("relay %s is not used any more: %s", p.host, why))
}

// tell reports, once for the site, why the controller sends the program to a host. A relay whose deliveries have all
// failed for several hosts is given up: the hosts may not trust the authority, and each of them would wait for it.
func (s *site) tell(p *post, host string, err error) {
	const enough = 3
	p.mu.Lock()
	p.failed++
	useless := p.delivered == 0 && p.failed == enough
	p.mu.Unlock()
	if useless {
		s.drop(p, fmt.Sprintf("it has delivered to none of %d hosts: %s", enough, cause(err)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told {
		s.told = true
		s.relays.options.Warn(fmt.Sprintf("relay %s: %s; the controller sends the host program to this host, and to all hosts with this error", p.host, cause(err)))
	}
}

// refused records that a relay has reported a delivery of another file than the build.
func (s *site) refused(host string) {
	s.mu.Lock()
	p := s.current
	s.mu.Unlock()
	if p != nil {
		s.drop(p, fmt.Sprintf("it has delivered other data to %s than it was sent", host))
	}
}

func (s *site) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.relay.Close()
		s.current = nil
	}
}

// bring has the relay take a build, unless it has it, and deliver it. The relay itself only takes it.
func (p *post) bring(ctx context.Context, d delivery) (path string, err error) {
	cert, path, err := p.ready(ctx, d)
	if err != nil || d.host == p.host {
		return path, err
	}
	if path, err = p.relay.Deliver(ctx, cert, d.build, d.to); err == nil {
		p.mu.Lock()
		p.delivered++
		p.mu.Unlock()
	}
	return path, err
}

// A postError is that a relay cannot deliver anything.
type postError struct{ error }

func (e postError) Unwrap() error { return e.error }

// ready has the relay take a build, and its key certified for it unless the relay itself is to have it.
func (p *post) ready(ctx context.Context, d delivery) (cert *ssh.Certificate, path string, err error) {
	c := p.content(d.build)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path == "" {
		if c.path, err = p.relay.Take(ctx, d.build, d.sent); err != nil {
			return nil, "", postError{err}
		}
	}
	if d.host == p.host {
		return nil, c.path, nil
	}
	if c.cert == nil || time.Now().After(c.until) {
		r := p.site.relays
		if c.cert, err = p.relay.Certify(ctx, r.options.Authority, d.build, p.site.principals, r.certificateID(p.host)); err != nil {
			return nil, "", fmt.Errorf("%w: %w", errAuthority, err)
		}
		c.until = time.Now().Add(relay.Validity / 2)
	}
	return c.cert, c.path, nil
}

func (p *post) content(b start.Build) *content {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.contents[b.CompressedSHA256]
	if c == nil {
		c = &content{}
		p.contents[b.CompressedSHA256] = c
	}
	return c
}

// over reports whether an error means that the relay can deliver nothing more.
func (p *post) over(err error) bool {
	select {
	case <-p.relay.Done():
		return true
	default:
	}
	_, post := errors.AsType[postError](err)
	return post || errors.Is(err, transport.ErrLost) || errors.Is(err, transport.ErrTimeout)
}
