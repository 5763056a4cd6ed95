package playbooks

import (
	"context"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// A Registry has services registered, for others to find.
type Registry interface {
	// Ready reports why nothing can be registered, or nil.
	Ready(ctx context.Context) error
	Register(ctx context.Context, list []registry.Registration) error
}

// checkRegistry reports why what resources want registered cannot be.
func (r *Runner) checkRegistry(ctx context.Context) error {
	places := manifest.Registering(r.Plays)
	if r.Registry == nil || r.Options.Check || len(places) == 0 {
		return nil
	}
	if err := r.Registry.Ready(ctx); err != nil {
		return places[0].Errorf("to prepare NATS, see docs/guide/nats.md; to register nothing, pass --registration ''", "nothing can be registered: %v", err)
	}
	return nil
}

// register registers the services of a resource once it is in its desired state. It returns the result, which is a
// failure if the registration fails; e is the event for it.
func (g *stages) register(ctx context.Context, r *wire.Result, e *events.Result) *wire.Result {
	list := g.compiled.Registrations[r.Index]
	if len(list) == 0 || g.of.mode.looks() || e.Status != events.Stable && e.Status != events.Changed {
		return r
	}
	e.Registers = list
	if g.apart || !g.runner.Register(ctx, e) {
		return r
	}
	failed := *r
	failed.Status, failed.Error, failed.Done = wire.Failed, e.Error, r.Status == wire.Changed
	return &failed
}

// Register registers the services of a result, and notes them in it. A resource that cannot be registered has failed.
func (r *Runner) Register(ctx context.Context, e *events.Result) (failed bool) {
	list := e.Registers
	e.Registers = nil
	if r.Registry == nil {
		return false
	}
	text := "registered: "
	if e.Check {
		text = "would be registered: "
	} else if err := r.Registry.Register(ctx, list); err != nil {
		e.Status, e.Error = events.Failed, err.Error()
		return true
	}
	for _, one := range list {
		e.Messages = append(e.Messages, events.Note{Level: "info", Text: text + one.String()})
	}
	return false
}
