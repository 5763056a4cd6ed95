package dial

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// maxStartups limits the connections to one sshd that have not logged in yet. From the tenth on, sshd may drop any of
// them (sshd_config, MaxStartups 10:30:100); two are left to other clients.
const maxStartups = 8

// startups counts, for each sshd, the connections to it that have not logged in yet. Others
// wait in line, and no clock of theirs runs meanwhile. The zero value is empty.
type startups struct {
	mu sync.Mutex
	at map[string]*door // doors with a connection in progress, or that have been crowded
}

// A door is one sshd, as a dialer sees it.
type door struct {
	most    int // at once
	inside  int
	waiting []chan struct{} // in line; each is closed when its turn has come
}

// enter waits for a place at an sshd; leave releases it. The error is the error of ctx. The empty key means an sshd
// without a limit.
func (s *startups) enter(ctx context.Context, key string) (leave func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	s.mu.Lock()
	d := s.door(key)
	leave = sync.OnceFunc(func() { s.leave(key, d) })
	if d.inside < d.most {
		d.inside++
		s.mu.Unlock()
		return leave, nil
	}
	turn := make(chan struct{})
	d.waiting = append(d.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(d.waiting, turn)
	if i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // its turn came in the same moment
		leave()
	}
	return nil, context.Cause(ctx)
}

// door returns the door of key. The lock must be held.
func (s *startups) door(key string) *door {
	d := s.at[key]
	if d == nil {
		if s.at == nil {
			s.at = map[string]*door{}
		}
		d = &door{most: maxStartups}
		s.at[key] = d
	}
	return d
}

func (s *startups) leave(key string, d *door) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.inside--
	for d.inside < d.most && len(d.waiting) > 0 {
		close(d.waiting[0])
		d.waiting = d.waiting[1:]
		d.inside++
	}
	if d.inside == 0 && len(d.waiting) == 0 && d.most == maxStartups {
		delete(s.at, key)
	}
}

// crowded notes that an sshd has dropped a connection for there being too many: from now on
// half as many are there at once.
func (s *startups) crowded(key string) {
	if key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.door(key)
	d.most = max(1, d.most/2)
}

// startupKey names the sshd to which a connection to t logs in first, as seen from the last of its jump hosts; "" if it
// is unknown or there is none. A proxy command that runs ssh logs in at a host in between: the same one for all
// commands that differ only in the final host.
func startupKey(t transport.Target) string {
	switch {
	case t.ProxyCommand != "" && runsSSH(t.ProxyCommand):
		return strings.NewReplacer(t.Addr(), "%h:%p", t.Address, "%h").Replace(t.ProxyCommand)
	case t.ProxyCommand != "":
		return ""
	case len(t.Jump) > 0:
		return transport.LoginsOf(t.Jump) + " " + t.Addr()
	}
	return t.Addr()
}

// runsSSH reports whether ssh is one of the words of a command.
func runsSSH(command string) bool {
	return slices.ContainsFunc(strings.Fields(command), func(word string) bool {
		return word == "ssh" || strings.HasSuffix(word, "/ssh")
	})
}

// openInterval is the time between two dials from one jump host on the same connection. The lookups and connections of
// a whole fleet at once would block the one process that serves the connection.
const openInterval = 2 * time.Millisecond

// A pace lets its callers through one by one, openInterval apart.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// turn waits for the next one. It returns false if ctx ends first.
func (p *pace) turn(ctx context.Context) bool {
	now := time.Now()
	p.mu.Lock()
	if p.next.Before(now) {
		p.next = now
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(openInterval)
	p.mu.Unlock()
	return wait == 0 && ctx.Err() == nil || sleep(ctx, wait)
}
