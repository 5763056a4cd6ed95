package firewall

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (f *Firewall) Subject() string { return "firewall " + f.Name }

// Reversal implements [modules.Reverser]: the rules of that name that are in force, and those that are kept. What
// an earlier call has given brings them back whatever has been done since.
func (f *Firewall) Reversal(ctx context.Context, h modules.Host, earlier modules.Resource) (map[string]any, error) {
	if earlier != nil {
		return nil, nil
	}
	is, err := f.look(ctx, h)
	if err != nil {
		return nil, err
	}
	all, err := f.keptNow(h.Files)
	if err != nil {
		return nil, err
	}
	return map[string]any{"restore": Restore{InForce: texts(named(is.rules, f.Name)), Kept: texts(named(all, f.Name))}}, nil
}

// Watch implements [modules.Watcher]: nothing tells of what is in force.
func (f *Firewall) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{f.at(keptFile), f.loads(h.Files)}, Polled: "the rules that are in force"}, nil
}

// Describe implements [modules.Describer].
func (f *Firewall) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	is, err := f.look(ctx, h)
	if err != nil {
		return modules.Description{}, err
	}
	all, err := f.keptNow(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	state := struct {
		InForce []string `json:"in_force"`
		Kept    []string `json:"kept"`
		Gates   []string `json:"gates,omitempty"` // chains of others that have to be opened for what is accepted
	}{InForce: texts(named(is.rules, f.Name)), Kept: texts(named(all, f.Name))}
	for _, g := range is.gates {
		if g.blocks {
			state.Gates = append(state.Gates, g.String())
		}
	}
	ensure := absent
	if len(state.InForce) > 0 {
		ensure = present
	}
	return modules.Description{Ensure: ensure, Provider: nftables, State: state}, nil
}
