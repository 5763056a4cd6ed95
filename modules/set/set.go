package set

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// A Set changes values of the data. The controller evaluates and keeps the values. The host only decides whether the
// resource is skipped.
type Set struct {
	Name string         `json:"name" required:"true" doc:"purpose of the values, in words"`
	Data map[string]any `json:"data,omitempty" doc:"the values, which later resources of the host read as Data.NAME; required"`
	modules.Event
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "set",
		Doc: "Sets values of the data for all later resources of the host. It changes nothing on the host. " +
			"For manifests only, not for ad-hoc calls.",
		New:  func() modules.Resource { return new(Set) },
		Idle: true,
	}
}

// Sets implements [modules.Setter].
func (s *Set) Sets() map[string]any { return s.Data }

// Validate implements [modules.Resource].
func (s *Set) Validate() error { return modules.ValidateLine("name", s.Name) }

// Check implements [modules.Resource].
func (s *Set) Check(context.Context, modules.Host) (modules.Plan, error) { return modules.Plan{}, nil }

// Refresh implements [modules.Refresher]. Only with RefreshOnly a refresh makes a difference.
func (s *Set) Refresh(_ context.Context, _ modules.Host, p modules.Plan) (modules.Plan, error) {
	if s.RefreshOnly {
		p.Action, p.Refreshed = "set the values", true
	}
	return p, nil
}

// Apply implements [modules.Resource]: the controller has the values.
func (s *Set) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// Watch implements [modules.Watcher]: no event of the host matters.
func (s *Set) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{}, nil
}

type state struct {
	Name string `json:"name"`
}

// Describe implements [modules.Describer]. The host does not know the values.
func (s *Set) Describe(context.Context, modules.Host) (modules.Description, error) {
	return modules.Description{Ensure: "present", Provider: "ccm-push", State: state{s.Name}}, nil
}
