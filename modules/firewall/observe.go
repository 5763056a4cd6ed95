package firewall

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (f *Firewall) Subject() string { return "firewall " + f.Name }

// Reversal implements [modules.Reverser]: the rules of that name in force, and the stored ones. The result of an
// earlier call restores them, whatever has changed since.
func (f *Firewall) Reversal(ctx context.Context, h modules.Host, earlier modules.Resource) (map[string]any, error) {
	if m := f.manager(h.Files); m != nil {
		return f.reversalManaged(ctx, h, m, earlier)
	}
	if earlier != nil {
		return nil, nil
	}
	is, err := look(ctx, h)
	if err != nil {
		return nil, err
	}
	all, err := keptNow(h.Files)
	if err != nil {
		return nil, err
	}
	return map[string]any{"provider": nftables, "restore": Restore{InForce: texts(named(is.rules, f.Name)), Kept: texts(named(all, f.Name))}}, nil
}

// Watch implements [modules.Watcher]: no event is sent when the rules in force change.
func (f *Firewall) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	from := modules.Sources{Paths: []string{keptFile, loads(h.Files), "/etc/ufw/ufw.conf"}, Units: []string{"firewalld.service"}, Polled: "the rules that are in force"}
	if m := f.manager(h.Files); m != nil {
		from.Paths = append(from.Paths, m.files()...)
	}
	return from, nil
}

// Describe implements [modules.Describer].
func (f *Firewall) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	if m := f.manager(h.Files); m != nil {
		return f.describeManaged(ctx, h, m)
	}
	is, err := look(ctx, h)
	if err != nil {
		return modules.Description{}, err
	}
	all, err := keptNow(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	state := description{InForce: texts(named(is.rules, f.Name)), Kept: texts(named(all, f.Name))}
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

type description struct {
	InForce []string `json:"in_force"`
	Kept    []string `json:"kept"`
	Gates   []string `json:"gates,omitempty"` // chains of others to open for accepted packets
}

func (f *Firewall) describeManaged(ctx context.Context, h modules.Host, m manager) (modules.Description, error) {
	all, _, err := f.about(h, m)
	if err != nil {
		return modules.Description{}, err
	}
	is, err := rulesOf(ctx, h, m)
	if err != nil {
		return modules.Description{}, err
	}
	ensure, state := absent, description{InForce: []string{}, Kept: []string{}}
	for _, rule := range all {
		there := is.of(rule)
		if there.inForce {
			ensure, state.InForce = present, append(state.InForce, rule)
		}
		if there.kept {
			state.Kept = append(state.Kept, rule)
		}
	}
	return modules.Description{Ensure: ensure, Provider: m.name(), State: state}, nil
}
