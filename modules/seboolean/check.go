package seboolean

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// effect is the kind of effect whose key is a boolean, and whose state is its values.
const effect modules.EffectKind = "seboolean"

// values are the values of a boolean: "on", "off", or "" for none.
type values struct {
	live string // value in the running SELinux
	kept string // value stored on this host, which overrides the policy's
}

// steps are the steps of Apply.
type steps struct {
	system semanage.System
	want   values
	live   bool // is to change
	kept   bool
}

func word(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Check implements [modules.Resource].
func (b *Seboolean) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	if has, err := semanage.Has(h); err != nil || !has && b.Ensure == absent {
		return modules.Plan{}, err
	}
	system, err := semanage.Find(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	have, err := b.look(h, system)
	if err != nil {
		return modules.Plan{}, err
	}
	want, err := b.want(have, system)
	if err != nil || have == want {
		return modules.Plan{}, err
	}
	do := steps{system: system, want: want, live: have.live != want.live, kept: have.kept != want.kept}
	for _, program := range do.programs() {
		if err := semanage.MayChange(h.Files, program); err != nil {
			return modules.Plan{}, err
		}
	}
	plan := modules.Plan{
		Action: "turned it " + want.live, Steps: do, Effects: []modules.Effect{{Kind: effect, Key: b.Name, State: want}},
		MayFail: !system.Running && have.kept == "" && b.Ensure != absent && !system.Declares(h.Files, semanage.Boolean, b.Name),
	}
	if do.live {
		plan.Changes = append(plan.Changes, modules.Change{Property: "value", Have: have.live, Want: want.live})
	}
	if do.kept {
		plan.Changes = append(plan.Changes, modules.Change{Property: "kept", Have: shown(have.kept), Want: shown(want.kept)})
		plan.Effects = append(plan.Effects, system.Differ(effect, store)...)
		plan.Action = "kept it " + want.kept
	}
	if do.kept && want.kept == "" {
		plan.Action = "left it to the policy"
	}
	return plan, nil
}

func shown(value string) string {
	if value == "" {
		return "as the policy has it"
	}
	return value
}

// look finds out which values the boolean has, or will have.
func (b *Seboolean) look(h modules.Host, system semanage.System) (values, error) {
	if state, predicted := h.Forecast.Lookup(effect, b.Name); predicted {
		return state.(values), nil
	}
	kept, err := keptValues(h.Files.Knowing(effect), system)
	if err != nil {
		return values{}, err
	}
	have := values{kept: kept[b.Name]}
	if !system.Running {
		return have, nil
	}
	text, err := system.Kernel(h.Files, "booleans/"+b.Name) // the current value, and the pending one
	switch {
	case modules.NotThere(err) && b.Ensure == absent:
		return have, nil
	case modules.NotThere(err):
		return values{}, modules.Refuse("the policy that runs on this host has no boolean %s", b.Name)
	case err != nil:
		return values{}, modules.PermissionRefusal(err)
	}
	have.live = word(strings.HasPrefix(text, "1"))
	return have, nil
}

// keptValues are the values of all booleans with a stored value.
func keptValues(files modules.FileReader, system semanage.System) (map[string]string, error) {
	lines, err := system.Local(files, store)
	kept := map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		kept[strings.TrimSpace(name)] = word(value == "1" || value == "true" || value == "on")
	}
	return kept, err
}

// want is the desired value of the boolean.
func (b *Seboolean) want(have values, system semanage.System) (values, error) {
	want := have
	switch {
	case b.Ensure == absent:
		want.kept = ""
		if b.Live != nil && system.Running {
			want.live = word(*b.Live)
		}
		return want, nil
	case !b.persistent() && !system.Running:
		return want, modules.Refuse(`SELinux does not run on this host, so a boolean has only its stored value, not a current one: remove the property "persistent"`)
	}
	if system.Running {
		want.live = word(*b.Value)
		if b.Live != nil {
			want.live = word(*b.Live)
		}
	}
	if b.persistent() {
		want.kept = word(*b.Value)
	}
	return want, nil
}

// programs are the programs that Apply starts. setsebool(8) is on every host that runs SELinux, and works only there.
func (s steps) programs() []string {
	var all []string
	if s.kept && !s.bySetsebool() {
		all = append(all, "semanage")
	}
	if s.live || s.bySetsebool() {
		all = append(all, "setsebool")
	}
	return all
}

// bySetsebool means that setsebool stores the value.
func (s steps) bySetsebool() bool { return s.kept && s.system.Running && s.want.kept == s.want.live }

// Apply implements [modules.Resource]. The store is changed last: a boot never loads a value that the
// kernel has refused.
func (b *Seboolean) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a boolean")
	}
	if do.live || do.bySetsebool() {
		argv := []string{"setsebool"}
		if do.bySetsebool() {
			argv = append(argv, "-P")
		}
		err := modules.RunProgram(ctx, h, modules.Command{Argv: append(argv, b.Name, do.want.live), Timeout: semanage.Timeout})
		if err != nil {
			return err
		}
	}
	if do.kept && !do.bySetsebool() {
		return b.keep(ctx, h, do)
	}
	return nil
}

// keep runs semanage to store the value, or to remove it. semanage can only remove all values at once, so the others
// are stored again.
func (b *Seboolean) keep(ctx context.Context, h modules.Host, do steps) error {
	if do.want.kept != "" {
		return do.system.Import(ctx, h, "boolean -m --"+do.want.kept+" "+b.Name)
	}
	kept, err := keptValues(h.Files, do.system)
	if err != nil {
		return err
	}
	delete(kept, b.Name)
	lines := []string{"boolean -D"}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		lines = append(lines, "boolean -m --"+kept[name]+" "+name)
	}
	return do.system.Import(ctx, h, lines...)
}
