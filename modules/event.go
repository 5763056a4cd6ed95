package modules

import "context"

// Event is the property that makes a resource an event. Every [Refresher] embeds it; the engine implements it.
type Event struct {
	RefreshOnly bool `json:"refreshonly,omitempty" also:"refresh_only" doc:"an event: do nothing unless a resource in subscribe has changed"`
}

func (e Event) isEvent() bool { return e.RefreshOnly }

// IsEvent reports whether a resource does nothing unless it is refreshed.
func IsEvent(res Resource) bool {
	e, ok := res.(interface{ isEvent() bool })
	return ok && e.isEvent()
}

// Compare is Check, except for an event: an event compares nothing, so nothing differs.
func Compare(ctx context.Context, res Resource, h Host) (Plan, error) {
	if !IsEvent(res) {
		return res.Check(ctx, h)
	}
	if g, ok := res.(Guarded); ok {
		return Plan{}, g.Guards(ctx, h)
	}
	return Plan{}, nil
}

// Guarded is a type with commands that decide whether its resources have anything to do. As in CCM, they also run for an
// event that is not refreshed: a command that cannot start is a failure.
type Guarded interface {
	Guards(ctx context.Context, h Host) error
}

// The actions of a refresh that a [Merger] can merge.
const (
	ActionRestart = "restart"
	ActionReload  = "reload"
)

// Merger is a [Refresher] whose refreshes have an action. The engine merges the refreshes of several resources with the
// same subject: a restart makes a reload needless.
type Merger interface {
	Refresher
	// Subject is the thing that a refresh acts on: see [Reverser].
	Subject() string
	// RefreshAction returns the action of a refresh: [ActionRestart], [ActionReload] or another, which is never merged; empty
	// means none.
	RefreshAction() string
	// SetRefreshAction sets the action, for a refresh that an earlier run has left.
	SetRefreshAction(action string)
}

// Serves reports whether a refresh with the action done makes a due one needless.
func Serves(done, due string) bool {
	return done == ActionRestart && (due == ActionRestart || due == ActionReload) || done == ActionReload && due == ActionReload
}
