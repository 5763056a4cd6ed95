package modules

import (
	"context"
	"errors"
	"io"
	"time"
)

// Refresher is a type that reacts when a resource it subscribes to has changed.
// Only such types accept `subscribe`.
type Refresher interface {
	// Refresh turns p, which Check has just made, into a plan that also
	// refreshes, and sets Refreshed if it does. It changes nothing on the host.
	Refresh(ctx context.Context, h Host, p Plan) (Plan, error)
}

// Verifier is a type that knows better than a second Check whether its Apply
// has worked. Verify is called after Apply instead of Check.
type Verifier interface {
	Verify(ctx context.Context, h Host, p Plan) error
}

// Recurrer is a type whose resources may have something to do although neither the manifest
// nor the host has changed: a command that runs each time, the newest version of a package.
// What the engine tells of their changes is that the manifest wants them.
type Recurrer interface {
	// Recurs reports whether a plan that Check has made may be such a one.
	Recurs(p Plan) bool
}

// Commander is a type whose properties say what [Plan].Command will be. A controller that has lost a host reports by
// it which outcomes are unknown.
type Commander interface {
	Repeat() Repeat
}

// Preloader is a type that can find out with one question to the host what the
// Checks of many resources would ask for one by one.
type Preloader interface {
	// Preload asks about all of them: resources of the receiver's type that are still
	// to be checked, the receiver first. It changes nothing. Their Checks get what it
	// returns from [Host.Preloaded], until something has been applied, and ask the
	// host by themselves for what is missing there; so after an error, too.
	Preload(ctx context.Context, h Host, all []Resource) (any, error)
}

// Batcher is a type that can carry out the plans of several resources in one go,
// which is faster than one after the other. Results do not change by it: what a
// batch has not brought about is applied again singly, so a batch may fail and
// says nothing about its members. It may not be a [Verifier] as well.
type Batcher interface {
	// BatchKey is the same for plans that may go together; "" goes with none.
	BatchKey(p Plan) string
	// ApplyBatch carries out the plans of neighbours in a catalog, in their order,
	// all of one type and with one key. The receiver is the first of them.
	ApplyBatch(ctx context.Context, h Host, batch []Planned) error
}

// Planned is a resource with the plan that its Check has made.
type Planned struct {
	Resource Resource
	Plan     Plan
}

// Informed is a type that does not go by the properties of its resources alone.
type Informed interface {
	// Inform is called before all other calls on a host, and on the controller before
	// Prepare, with what is known there.
	Inform(c Circumstances)
}

// Circumstances are what an [Informed] type learns of its resource.
type Circumstances struct {
	// Sensitive says that nothing of the resource may be seen: a type that hands values on
	// to programs refuses places where other users could see them, such as arguments.
	Sensitive bool
	// Again says that the run goes on with a catalog behind a connection that was lost: an Apply of the
	// resource may have begun before, and was not told to its end.
	Again bool
	// Reversal says that the resource has left the manifest, and brings back what was there
	// before: what to write in a manifest is then no advice.
	Reversal bool
}

// A Restarter is a type whose Apply has the host start again, and goes on behind that: it is checked
// anew, with [Circumstances].Again. Nothing else may be at work on the host then.
type Restarter interface {
	// Restarts is how long the host may take until it can be logged in to again.
	Restarts() time.Duration
}

// A Limited type limits the time of its commands by a property of its own.
type Limited interface {
	// Longest is how long its resource may be in progress on the host at most; 0 means no limit.
	Longest() time.Duration
}

// ErrRestarting is the error of the Apply of a [Restarter] that has been ended since the host is going
// down. The host program ends then without a result of it, as if the connection had been lost.
var ErrRestarting = errors.New("the host is going down")

// A Fetcher is a type of which each resource is a file of the host that the controller gets a copy
// of, whenever its Check has found nothing to do. In a check run it is only said what would be got.
type Fetcher interface {
	// MostFetched is how many bytes the file may have, by the properties alone.
	MostFetched() int64
	// Fetches says of what the last Check has found how much there is to get: "12 bytes". "" is nothing.
	Fetches() string
	// Fetch opens the file. It is called in applying runs only.
	Fetch(h Host) (io.ReadCloser, error)
}

// A Nester is a type whose resources stand for the resources of another manifest.
// A controller puts those into the catalog, right before an entry with a Scope;
// no host ever checks or applies a Nester.
type Nester interface {
	Nest() Nest
}

// A Nest is what a [Nester] asks the controller for.
type Nest struct {
	Manifest string         // a path, or the URL of an archive
	Checksum string         // SHA-256 of an archive, in lower-case hex; "" if none is given
	Data     map[string]any // for the nested manifest; nil gives it all that its parent has
	Monitor  bool           // only health checks
	Deny     bool           // the nested manifest may not nest others
}
