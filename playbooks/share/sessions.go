package share

import (
	"context"
	"slices"
	"sync"
)

// Sessions are the sessions of the hosts of a run. Each has one user at a time: a play of the host itself, or a
// resource of another host that runs there. A host of the current batch runs its play first, so that the result of a
// run does not depend on speed; other sessions are granted in the order of the requests.
type Sessions struct {
	waits *Waits
	mu    sync.Mutex
	hosts map[string]*sessionQueue
	start func(host string) // begins a host of the batch at once; may be nil
}

// A sessionQueue has the user of a host's session, followed by the waiting ones.
type sessionQueue struct{ users []*sessionUser }

// A sessionUser has a session, or waits for it.
type sessionUser struct {
	own   bool          // set for a play of the host
	given chan struct{} // closed once it has it
}

// NewSessions returns the sessions of a run; waits has the waits between its hosts.
func NewSessions(waits *Waits) *Sessions {
	return &Sessions{waits: waits, hosts: map[string]*sessionQueue{}}
}

// Begin reserves the sessions of a batch's hosts for their own plays, until [Sessions.End]. No resources of others run
// there at that time. start begins one of them out of turn.
func (s *Sessions) Begin(hosts []string, start func(host string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = start
	for _, host := range hosts {
		s.ask(host, true)
	}
}

// End records that hosts are done with a play. A second call does nothing.
func (s *Sessions) End(hosts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, host := range hosts {
		if q := s.hosts[host]; q != nil && q.users[0].own {
			s.leave(host, q.users[0])
		}
	}
}

// Borrow waits for the session of a host, for a resource of the host by, until ctx ends. It is an
// error if that has a play to end before which waits for by.
func (s *Sessions) Borrow(ctx context.Context, by, host string) (done func(), err error) {
	u, start, end, err := s.queue(by, host)
	if err != nil {
		return nil, err
	}
	defer end()
	if start != nil {
		start(host)
	}
	done = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(host, u)
	}
	select {
	case <-u.given:
		return done, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}

// queue requests the session of a host. start begins its own play, if that comes first; end must be called when the
// wait is over.
func (s *Sessions) queue(by, host string) (u *sessionUser, start func(host string), end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = func() {}
	if q := s.hosts[host]; q != nil && slices.ContainsFunc(q.users, func(u *sessionUser) bool { return u.own }) {
		if end, err = s.waits.begin(wait{by, host, true}); err != nil {
			return nil, nil, nil, err
		}
		start = s.start
	}
	return s.ask(host, false), start, end, nil
}

func (s *Sessions) ask(host string, own bool) *sessionUser {
	q := s.hosts[host]
	if q == nil {
		q = &sessionQueue{}
		s.hosts[host] = q
	}
	u := &sessionUser{own: own, given: make(chan struct{})}
	if q.users = append(q.users, u); len(q.users) == 1 {
		close(u.given)
	}
	return u
}

// leave passes the session to the next user, or removes a waiting one from the queue.
func (s *Sessions) leave(host string, u *sessionUser) {
	q := s.hosts[host]
	had := q.users[0] == u
	q.users = slices.DeleteFunc(q.users, func(other *sessionUser) bool { return other == u })
	switch {
	case len(q.users) == 0:
		delete(s.hosts, host)
	case had:
		close(q.users[0].given)
	}
}
