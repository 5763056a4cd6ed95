package upgrade

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

func (u *Upgrade) packages() Manager {
	if u.manager == nil {
		u.manager = u.by(u)
	}
	return u.manager
}

// Check implements [modules.Resource].
func (u *Upgrade) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return u.packages().Plan(ctx, h)
}

// Apply implements [modules.Resource].
func (u *Upgrade) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	if !p.Pending() {
		return errors.New("the plan is not one of an upgrade")
	}
	return u.packages().Apply(ctx, h, p)
}

// Recurs implements [modules.Recurrer]: newer packages appear without a change on the host.
func (u *Upgrade) Recurs(modules.Plan) bool { return true }

// Watch implements [modules.Watcher].
func (u *Upgrade) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	from := u.packages().Sources(h)
	from.Polled = "the packages in its repositories"
	return from, nil
}

// A state is a host's state of an upgrade.
type state struct {
	Pending []modules.Change `json:"pending,omitempty"` // packages, with both versions
}

// Describe implements [modules.Describer].
func (u *Upgrade) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	provider, err := u.packages().Manager(h)
	if err != nil {
		return modules.Description{}, err
	}
	plan, err := u.Check(ctx, h)
	if err != nil {
		return modules.Description{}, err
	}
	d := modules.Description{Ensure: "current", Provider: provider, State: state{plan.Changes}}
	if plan.Pending() {
		d.Ensure = "outdated"
	}
	return d, nil
}
