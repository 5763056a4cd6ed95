package fcontext

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// effect is the kind of effect whose key is a record's, and whose state is its label.
const effect modules.EffectKind = "fcontext"

// labels is the kind of effect of a record whose files get their labels.
const labels modules.EffectKind = "selinux labels"

// steps are the steps of Apply.
type steps struct {
	system semanage.System
	known  bool
	put    bool // or else only files get their labels
	want   semanage.Context
}

// Check implements [modules.Resource].
func (f *Fcontext) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	if has, err := semanage.Has(h); err != nil || !has && f.Ensure == absent {
		return modules.Plan{}, err
	}
	system, have, err := f.look(h)
	if err != nil {
		return modules.Plan{}, err
	}
	want := f.want(have)
	do := steps{system: system, known: have.Type != "", put: have != want, want: want}
	if !do.put {
		return f.checkLabels(ctx, h, do)
	}
	if err := semanage.MayChange(h.Files, "semanage"); err != nil {
		return modules.Plan{}, err
	}
	plan := modules.Plan{
		Action: "gave a label to its paths", Steps: do,
		Effects: append([]modules.Effect{{Kind: effect, Key: f.key(), State: kept(want)}}, system.Differ(effect, store)...),
		// Values that are in no file of the policy can only be checked by semanage.
		MayFail: want.Type != "" && (want.Type != semanage.None && !system.Knows(h.Files, want.Type) || f.User != "" || f.Range != ""),
	}
	switch {
	case f.Ensure == absent:
		plan.Action = "left its paths to the policy"
	case do.known:
		plan.Action = "changed the label of its paths"
	}
	if f.labelled(system) {
		plan.Action += ". had restorecon set it"
		plan.Effects = append(plan.Effects, modules.Effect{Kind: labels, Key: f.key()})
	}
	change := func(property, have, want string) {
		if have != want {
			plan.Changes = append(plan.Changes, modules.Change{Property: property, Have: shown(have), Want: shown(want)})
		}
	}
	change("type", have.Type, want.Type)
	if f.User != "" || f.Ensure == absent {
		change("user", have.User, want.User)
	}
	if f.Range != "" || f.Ensure == absent {
		change("range", have.Range, want.Range)
	}
	return plan, nil
}

func shown(value string) string {
	if value == "" {
		return "as the policy has it"
	}
	return value
}

// kept is the store's form of a label.
func kept(want semanage.Context) semanage.Context {
	if want.Type == "" || want.Type == semanage.None {
		return want
	}
	return semanage.Context{User: cmp.Or(want.User, "system_u"), Type: want.Type, Range: cmp.Or(want.Range, "s0")}
}

// want is the desired label of paths.
func (f *Fcontext) want(have semanage.Context) semanage.Context {
	if f.Ensure == absent || f.Type == semanage.None {
		return semanage.Context{Type: map[bool]string{true: "", false: semanage.None}[f.Ensure == absent]}
	}
	want := semanage.Context{User: have.User, Type: f.Type, Range: have.Range}
	if f.User != "" {
		want.User = f.User
	}
	if f.Range != "" {
		want.Range = f.Range
	}
	return want
}

// labelled reports whether the resource also sets the labels of files.
func (f *Fcontext) labelled(system semanage.System) bool {
	return len(f.Restorecon) > 0 && system.Running
}

// checkLabels finds files whose label differs from the desired one.
func (f *Fcontext) checkLabels(ctx context.Context, h modules.Host, do steps) (modules.Plan, error) {
	if _, set := h.Forecast.Lookup(labels, f.key()); set || !f.labelled(do.system) {
		return modules.Plan{}, nil
	}
	if err := semanage.MayChange(h.Files, "restorecon"); err != nil {
		return modules.Plan{}, err
	}
	exit, err := h.Commands.Probe(ctx, f.restorecon("-n", "-v"))
	switch {
	case err != nil:
		return modules.Plan{}, err
	case exit.Code != 0:
		return modules.Plan{}, modules.Refuse("restorecon ended with exit code %d: %s", exit.Code, strings.TrimSpace(exit.Stderr.Text))
	}
	n := int64(strings.Count(exit.Stdout.Text, "\n")) // one line each
	if n == 0 {
		return modules.Plan{}, nil
	}
	return modules.Plan{
		Action: "had restorecon set labels", Steps: do,
		Changes: []modules.Change{{Property: "labels", Have: "of files differ: " + strings.SplitN(exit.Stdout.Text, "\n", 2)[0], Want: "as the policy has them"}},
		Effects: []modules.Effect{{Kind: labels, Key: f.key()}},
	}, nil
}

// restorecon sets the labels of files, or with -n prints the labels that it would set.
func (f *Fcontext) restorecon(options ...string) modules.Command {
	argv := append([]string{"restorecon", "-R"}, options...)
	return modules.Command{Argv: append(append(argv, "--"), f.Restorecon...), Timeout: semanage.Timeout}
}

// look returns the stored label of the paths, or the predicted one.
func (f *Fcontext) look(h modules.Host) (semanage.System, semanage.Context, error) {
	system, err := semanage.Find(h.Files)
	if err != nil {
		return system, semanage.Context{}, err
	}
	if state, predicted := h.Forecast.Lookup(effect, f.key()); predicted {
		return system, state.(semanage.Context), nil
	}
	lines, err := system.Local(h.Files.Knowing(effect), store)
	if err != nil {
		return system, semanage.Context{}, err
	}
	for _, line := range lines {
		if key, label, ok := parse(line); ok && key == f.key() {
			return system, label, nil
		}
	}
	return system, semanage.Context{}, nil
}

// Apply implements [modules.Resource].
func (f *Fcontext) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of labels")
	}
	if do.put {
		if err := f.put(ctx, h, do); err != nil {
			return err
		}
	}
	if !f.labelled(do.system) {
		return nil
	}
	return modules.RunProgram(ctx, h, f.restorecon())
}

// put runs semanage to store the label, or to remove it.
func (f *Fcontext) put(ctx context.Context, h modules.Host, do steps) error {
	key := fmt.Sprintf("-f %s %s", f.ftype(), f.target())
	if do.want == (semanage.Context{}) {
		return do.system.Import(ctx, h, "fcontext -d "+key)
	}
	options := "-t " + do.want.Type + " "
	if do.want.User != "" {
		options += "-s " + do.want.User + " "
	}
	if do.want.Range != "" {
		options += "-r " + do.want.Range + " "
	}
	return do.system.Put(ctx, h, "fcontext", options+key, do.known)
}
