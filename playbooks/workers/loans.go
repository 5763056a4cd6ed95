package workers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// loans are the hosts that are lent to a shift. The coordinator lends a host to one worker at a time. The zero loans
// has none.
type loans struct {
	mu     sync.Mutex
	byHost map[string]*loan
}

// A loan lasts until its end is requested.
type loan struct {
	end  func()
	over chan struct{} // closed when all its goroutines have ended
}

// begin runs keep as long as a host is lent.
func (l *loans) begin(ctx context.Context, host string, keep func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &loan{cancel, make(chan struct{})}
	go func() {
		defer close(one.over)
		keep(ctx)
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byHost == nil {
		l.byHost = map[string]*loan{}
	}
	l.byHost[host] = one
}

// end ends the loan of a host, if it is lent.
func (l *loans) end(host string) {
	l.mu.Lock()
	one := l.byHost[host]
	delete(l.byHost, host)
	l.mu.Unlock()
	if one != nil {
		one.end()
		<-one.over
	}
}

// endAll ends all remaining loans.
func (l *loans) endAll() {
	l.mu.Lock()
	var hosts []string
	for host := range l.byHost {
		hosts = append(hosts, host)
	}
	l.mu.Unlock()
	for _, host := range hosts {
		l.end(host)
	}
}

// Reach implements [playbooks.Controller].
func (s *shift) Reach(ctx context.Context, lent *playbooks.Lent) (transport.Target, error) {
	host := lent.Target.Host
	name := fmt.Sprintf("%x-%x", s.sealer.Handout, sha256.Sum256([]byte(host))) // a host's name may have any characters
	target, err := s.withKeys(name, lent.KnownHosts, lent.Certificate)(lent.Target)
	if err != nil {
		s.dropKeys(name)
		return target, err
	}
	s.loans.begin(ctx, host, func(ctx context.Context) {
		s.keepCertified(ctx, name, host, lent.Renew)
		<-ctx.Done()
		s.dropKeys(name)
	})
	return target, nil
}
