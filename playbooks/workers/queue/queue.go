// Package queue connects coordinators of runs and their workers: tickets wait for a worker, workers fetch objects, and
// send reports.
//
// A [JetStream] of NATS is a queue; tests use the queue in package queuetest. A queue guarantees only this: reports are
// kept until the run is closed, and come in the order of each worker. A ticket may be leased twice, and a lease may end
// during the work: the lock and the notes of a host decide which run changes it. Its users seal and sign their data;
// the queue knows neither hosts nor runs.
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
	// Join returns a worker's end of a run.
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
	// Said waits for the next report of a worker. Reports are numbered, from 1.
	Said(ctx context.Context) (data []byte, number uint64, err error)
	// LastSaid returns the number of the last report, or 0. While the queue does not answer it waits, until the run is
	// closed.
	LastSaid(ctx context.Context) (number uint64, err error)
	// Order sends an order to all workers of the run; absent ones do not receive it.
	Order(ctx context.Context, data []byte) error
	// Close deletes all data of the run.
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
	// Put stores an object for workers, under a random name.
	Put(ctx context.Context, data []byte) (name string, err error)
	// Delete deletes an object, if there is one of this name.
	Delete(ctx context.Context, name string) error
}

// A Member is a worker's end of a run.
type Member interface {
	// Ask sends a request to the coordinator. The error wraps [ErrGone] if the run is closed, and [ErrAway] if the
	// coordinator does not answer.
	Ask(ctx context.Context, question []byte) (answer []byte, err error)
	// Get fetches an object.
	Get(ctx context.Context, name string) ([]byte, error)
	// Say sends a report to the coordinator. It returns when the report is stored.
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
	// LeaseTime is the usual duration of a lease. A worker extends it well before its end.
	LeaseTime = 30 * time.Second
	// KeptTime is the time after which a server drops a ticket, an object, and reports.
	KeptTime = 7 * 24 * time.Hour
	// MaxSaid bounds one report, request or answer, in bytes.
	MaxSaid = 512 << 10
)

// ErrGone reports that a run is closed.
var ErrGone = errors.New("the run is over")

// ErrAway reports that a run exists but its coordinator does not answer; it may be out of reach for a while.
var ErrAway = errors.New("the controller of the run does not answer")
