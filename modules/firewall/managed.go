package firewall

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A manager is a program of the host that stores rules and puts them in force: ufw, firewalld. It identifies a rule by
// its text, and has no names for rules.
type manager interface {
	name() string
	// words are rules in the manager's language.
	words(h modules.Host, rules []rule) ([]string, error)
	// look finds out which rules there are.
	look(ctx context.Context, h modules.Host) (managed, error)
	// calls are the arguments of the program to add or remove a rule.
	calls(rule string, have, want presence) [][]string
	// files are the files in which it stores rules.
	files() []string
	// mayAccept reports whether one of the rules in force may accept packets that a wider rule drops.
	mayAccept(rule string) bool
}

// managed are the rules of a manager, in its words.
type managed struct{ inForce, kept []string }

// presence is where a rule exists.
type presence struct{ inForce, kept bool }

func (m managed) of(rule string) presence {
	return presence{slices.Contains(m.inForce, rule), slices.Contains(m.kept, rule)}
}

// with returns the rules after one has been added or removed.
func (m managed) with(rule string, p presence) managed {
	set := func(rules []string, there bool) []string {
		rules = slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return r == rule })
		if there {
			rules = append(rules, rule)
		}
		return rules
	}
	return managed{set(m.inForce, p.inForce), set(m.kept, p.kept)}
}

// callTimeout bounds a call of a manager, which reloads all its rules.
const callTimeout = 2 * time.Minute

// rulesOf returns the current rules of a manager, in a check run the predicted ones.
func rulesOf(ctx context.Context, h modules.Host, m manager) (managed, error) {
	if state, predicted := h.Forecast.Lookup(effect, m.name()); predicted {
		return state.(managed), nil
	}
	if err := may(h.Files); err != nil {
		return managed{}, err
	}
	return m.look(ctx, h)
}

// about returns all rules that the resource may add or remove, and the rules that it wants.
func (f *Firewall) about(h modules.Host, m manager) (all []string, want managed, err error) {
	if r := f.Restore; r != nil {
		return r.About, managed{r.InForce, r.Kept}, nil
	}
	if f.Port == "" && f.Service == "" && f.Interface == "" && len(f.Source) == 0 {
		return nil, managed{}, modules.Refuse(`%s identifies a rule by its contents, not by a name: write "port", "service", "source" or "interface" of the rule to remove`, m.name())
	}
	there := *f
	there.Ensure = present
	all, err = m.words(h, there.rules())
	if f.Ensure != absent {
		want = managed{all, all}
	}
	return all, want, err
}

// checkManaged is Check on a host with a manager.
func (f *Firewall) checkManaged(ctx context.Context, h modules.Host, m manager) (modules.Plan, error) {
	all, want, err := f.about(h, m)
	if err != nil {
		return modules.Plan{}, err
	}
	is, err := rulesOf(ctx, h, m)
	if err != nil {
		return modules.Plan{}, err
	}
	if !slices.ContainsFunc(is.inForce, m.mayAccept) {
		if err := refuseLockout(h.Files, nil, f.rules()); err != nil {
			return modules.Plan{}, err
		}
	}
	if _, ok := m.(ufwRules); ok && !f.warned && want.kept != nil && !ufwActive(h.Files) {
		f.warned = true
		h.Report.Message(modules.LevelWarning, "ufw is not active: the rule is saved, and takes effect when ufw is enabled")
	}
	var plan modules.Plan
	var calls [][]string
	will := is
	for _, rule := range all {
		if have, want := is.of(rule), want.of(rule); have != want {
			calls = append(calls, m.calls(rule, have, want)...)
			will = will.with(rule, want)
		}
	}
	if calls == nil {
		return modules.Plan{}, nil
	}
	changed := func(property string, have, want []string) {
		was, will := among(all, have), among(all, want)
		if was != will {
			plan.Changes = append(plan.Changes, modules.Change{Property: property, Have: was, Want: will})
		}
	}
	changed("in force", is.inForce, will.inForce)
	changed("kept", is.kept, will.kept)
	plan.Effects = []modules.Effect{{Kind: effect, Key: m.name(), State: will}}
	for _, name := range m.files() {
		if slices.Equal(is.kept, will.kept) {
			break
		}
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true, Stays: true}})
	}
	plan.Action, plan.Steps = actionOf(among(all, is.inForce), among(all, will.inForce)), compacted(calls)
	return plan, nil
}

// among lists the rules that are also in a list, for people.
func among(some, list []string) string {
	var all []string
	for _, rule := range some {
		if slices.Contains(list, rule) {
			all = append(all, rule)
		}
	}
	if all == nil {
		return absent
	}
	return edit.Shown(strings.Join(all, "; "))
}

func actionOf(was, will string) string {
	switch {
	case was == will:
		return "kept the rule"
	case was == absent:
		return "added the rule"
	case will == absent:
		return "removed the rule"
	}
	return "updated the rule"
}

// compacted omits a call that is equal to the one before it.
func compacted(calls [][]string) [][]string {
	return slices.CompactFunc(calls, func(a, b []string) bool { return slices.Equal(a, b) })
}

// applyManaged makes the calls of a plan.
func applyManaged(ctx context.Context, h modules.Host, calls [][]string) error {
	for _, argv := range calls {
		if err := modules.RunProgram(ctx, h, modules.Command{Argv: argv, Timeout: callTimeout}); err != nil {
			return err
		}
	}
	return nil
}

// reversalManaged returns the properties that restore the rules of the resource. It adds the rules of the stored
// resource, because rules are identified by their texts, and these may differ in each run.
func (f *Firewall) reversalManaged(ctx context.Context, h modules.Host, m manager, earlier modules.Resource) (map[string]any, error) {
	all, _, err := f.about(h, m)
	if err != nil {
		return nil, err
	}
	is, err := rulesOf(ctx, h, m)
	if err != nil {
		return nil, err
	}
	back := Restore{About: []string{}, InForce: []string{}, Kept: []string{}}
	if before, ok := earlier.(*Firewall); ok && before.Restore != nil {
		back = *before.Restore
	}
	for _, rule := range all {
		if slices.Contains(back.About, rule) {
			continue
		}
		back.About = append(back.About, rule)
		there := is.of(rule)
		_, ufw := m.(ufwRules)
		if there.inForce || ufw && there.kept { // ufw puts its stored rules in force
			back.InForce = append(back.InForce, rule)
		}
		if there.kept {
			back.Kept = append(back.Kept, rule)
		}
	}
	return map[string]any{"provider": f.provider(h.Files), "zone": f.Zone, "restore": back}, nil
}
