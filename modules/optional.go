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

// Recurrer is a type whose resources may have something to do although neither the manifest nor the host has changed: a
// command that runs each time, the newest version of a package. The engine reports the manifest as the cause of their
// changes.
type Recurrer interface {
	// Recurs reports whether a plan that Check has made may be such a one.
	Recurs(p Plan) bool
}

// Commander is a type whose properties determine [Plan].Command. After a controller has lost a host, it uses this to
// report which outcomes are unknown.
type Commander interface {
	Repeat() Repeat
}

// Preloader is a type that can replace single queries in the Checks of many resources by one query of the host.
type Preloader interface {
	// Preload queries the host for all: resources of the receiver's type that will be checked, the receiver first. It
	// changes nothing. Their Checks get the result from [Host.Preloaded], until a resource has been applied, and query
	// the host for parts that are missing in it; also after an error.
	Preload(ctx context.Context, h Host, all []Resource) (any, error)
}

// Batcher is a type that can apply the plans of several resources at once, which is faster. The results do not change:
// a member whose desired state was not reached is applied again alone, so a batch may fail without an error for its
// members. The type must not be a [Verifier] as well.
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
	// Inform is called before all other calls on a host, and on the controller before Prepare, with the facts that are
	// known there.
	Inform(c Circumstances)
}

// Circumstances are the facts about its resource that an [Informed] type learns.
type Circumstances struct {
	// Sensitive reports that nothing of the resource may be visible: a type that passes values to programs must refuse
	// places where other users could see them, such as arguments.
	Sensitive bool
	// Again reports that the run continues a catalog after a lost connection: an Apply of the resource may have begun
	// before, without a report of its end.
	Again bool
	// Reversal reports that the resource has left the manifest, and restores the former state: advice about the
	// manifest would be useless.
	Reversal bool
}

// A Restarter is a type whose Apply restarts the host, and continues after that: it is checked again, with
// [Circumstances].Again. No other resource may run on the host then.
type Restarter interface {
	// Restarts returns the longest time until the host accepts logins again.
	Restarts() time.Duration
}

// A Limited type limits the time of its commands by a property of its own.
type Limited interface {
	// Longest returns the longest time that its resource may be in progress on the host; 0 means no limit.
	Longest() time.Duration
}

// ErrRestarting is the error of the Apply of a [Restarter] that has been ended since the host is going
// down. The host program ends then without a result of it, as if the connection had been lost.
var ErrRestarting = errors.New("the host is going down")

// A Fetcher is a type of which each resource is a file of the host that the controller gets a copy
// of, whenever its Check has found nothing to do. In a check run it is only said what would be got.
type Fetcher interface {
	// MostFetched returns the largest allowed size of the file in bytes, by the properties alone.
	MostFetched() int64
	// Fetches describes the amount of data that the last Check has found, such as "12 bytes"; "" means nothing.
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

// A Setter is a type whose resources set values of the data. The controller evaluates them at the place of the resource.
// A host gets the resource without the values, to decide whether it has its turn.
type Setter interface {
	Sets() map[string]any
}

// A Nest is a [Nester]'s request to the controller.
type Nest struct {
	Manifest string         // a path, or the URL of an archive
	Checksum string         // SHA-256 of an archive, in lower-case hex; "" if none is given
	Data     map[string]any // data for the nested manifest; nil means all data of its parent
	Monitor  bool           // only health checks
	Deny     bool           // the nested manifest may not nest others
}
