// Package queue is where coordinators of runs and their workers meet: tickets that wait for a worker,
// objects that it fetches, and what it says back.
//
// A [JetStream] of NATS is one; tests use that of package queuetest. A queue is not to be
// relied on for more than this: what has been said is kept until the run is closed, and comes in the
// order of each worker. A ticket may be leased twice, and a lease may end while it is at work: who
// does what to a host is decided by the lock and the notes of that host. What goes through a queue
// is sealed and signed by those who use it; which hosts and runs there are does not belong here.
package queue

import (
	"context"
	"errors"
	"time"
)

// A Queue is shared by coordinators and workers.
type Queue interface {
	// Open makes room for a run. name is unguessable, of letters and digits.
	Open(ctx context.Context, name string) (Run, error)
	// Lease waits for a ticket of a site. The same ticket may come again.
	Lease(ctx context.Context, site string) (Lease, error)
	// Join gives a worker its end of a run.
	Join(ctx context.Context, name string) (Member, error)
	// User returns the user that this end logs in as, for [Presence].
	User() string
	// Announce keeps the last announcement of a worker, under a name of letters and digits. It may be lost.
	Announce(ctx context.Context, name string, data []byte) error
	// Present returns the announcements of the last day. since is for how long the server has kept them: earlier ones are lost.
	Present(ctx context.Context) (all []Presence, since time.Duration, err error)
	// Connected reports whether the server of the queue is reached, as far as is known.
	Connected() bool
}

// A Run is a coordinator's end of a run.
type Run interface {
	Desk
	// Said gives what workers have said next, and waits for it. What is said is numbered, from 1.
	Said(ctx context.Context) (data []byte, number uint64, err error)
	// LastSaid is the number of what has been said last; 0 is nothing. While the queue does not answer it waits, until the run is closed.
	LastSaid(ctx context.Context) (number uint64, err error)
	// Order tells all workers of the run something; who is not there does not hear it.
	Order(ctx context.Context, data []byte) error
	// Close deletes all that there is of the run.
	Close(ctx context.Context) error
}

// A Desk is where a coordinator hands out work. While the queue does not answer, Submit and Put wait, until the run is closed.
type Desk interface {
	// Submit has a ticket wait for a worker of a site.
	Submit(ctx context.Context, site string, ticket []byte) error
	// Withdraw takes back the tickets that are waiting.
	Withdraw(ctx context.Context) error
	// Answer has questions of workers answered, each by a goroutine of its own, until the run is closed.
	Answer(ctx context.Context, answer func(ctx context.Context, question []byte) []byte) error
	// Put keeps an object for workers, under a name that tells nothing.
	Put(ctx context.Context, data []byte) (name string, err error)
	// Delete deletes an object, if there is one of this name.
	Delete(ctx context.Context, name string) error
}

// A Member is a worker's end of a run.
type Member interface {
	// Ask asks the coordinator. The error wraps [ErrGone] if there is none any more, and [ErrAway] if that is not known.
	Ask(ctx context.Context, question []byte) (answer []byte, err error)
	// Get fetches an object.
	Get(ctx context.Context, name string) ([]byte, error)
	// Say says something to the coordinator. It returns when that is kept.
	Say(ctx context.Context, data []byte) error
	// Orders has orders of the coordinator heard, until the end of ctx.
	Orders(ctx context.Context, hear func(data []byte)) error
}

// A Lease is a ticket that one worker has for a while, from when it was given or last extended.
type Lease interface {
	Ticket() []byte
	Lasts() time.Duration
	// Extend returns when the queue has heard of it.
	Extend(ctx context.Context) error
	// Done ends it: the ticket does not come again.
	Done(ctx context.Context) error
	// Return ends it: the ticket is for the next worker.
	Return(ctx context.Context) error
}

const (
	// LeaseTime is how long a ticket is leased, unless a queue says otherwise. A worker extends it well
	// before that.
	LeaseTime = 30 * time.Second
	// KeptTime is when a server forgets a ticket, an object, and what was said.
	KeptTime = 7 * 24 * time.Hour
	// MaxSaid is how long what is said at once, asked or answered may be, in bytes.
	MaxSaid = 512 << 10
)

// ErrGone is that a run is closed.
var ErrGone = errors.New("the run is over")

// ErrAway is that a run is there, and nobody answers for it: its coordinator may be out of reach for a while.
var ErrAway = errors.New("the controller of the run does not answer")
