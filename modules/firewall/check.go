package firewall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// steps are the steps of Apply, in this order.
type steps struct {
	script string // input of nft; empty changes nothing in force
	files  any    // the steps of the edits
	is     ruleset
}

// Check implements [modules.Resource].
func (f *Firewall) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	m := f.manager(h.Files)
	if _, zones := m.(firewalldRules); f.Zone != "" && !zones { // without a zone the rule would apply to all incoming packets
		return modules.Plan{}, modules.Refuse("zone needs firewalld, which does not run on this host")
	}
	if m != nil {
		return f.checkManaged(ctx, h, m)
	}
	if by := incharge(h.Files); by != "" {
		return modules.Plan{}, modules.Refuse(`%s manages the firewall of this host, and would ignore this rule: remove the property "provider"`, by)
	}
	is, err := look(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	wantInForce, wantKept, err := f.wanted()
	if err != nil {
		return modules.Plan{}, err
	}
	if is.missing && (wantInForce != nil || wantKept != nil) {
		return modules.Plan{}, modules.Refuse("nft is not found in %s; install the package nftables", modules.DefaultPath)
	}
	rules := with(is.rules, f.Name, wantInForce)
	if err := refuseLockout(h.Files, is.rules, rules); err != nil {
		return modules.Plan{}, err
	}
	if err := refuseForeign(is, wantInForce); err != nil {
		return modules.Plan{}, err
	}
	do := steps{is: is}
	var changes []modules.Change
	if is.differs(rules) {
		do.script = is.script(rules)
		changes = f.inForce(is, wantInForce, rules)
	}
	files, err := f.files(h.Files, is, wantKept)
	if err != nil {
		return modules.Plan{}, err
	}
	plan, err := files.Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	do.files = plan.Steps
	plan.Changes = append(changes, plan.Changes...)
	f.warn(h, is, wantInForce, wantKept)
	if do.script == "" && do.files == nil {
		return modules.Plan{}, nil
	}
	if err := may(h.Files); err != nil {
		return modules.Plan{}, err
	}
	// Files alone count too: the rules loaded at boot decide which packets are accepted then.
	plan.Effects = append(plan.Effects, modules.Effect{Kind: effect, Key: nftables, State: is.after(rules)})
	plan.Action, plan.Steps = f.action(is, wantInForce, do), do
	return plan, nil
}

// wanted returns the rules of the resource to put in force, and to store.
func (f *Firewall) wanted() (inForce, kept []rule, err error) {
	if f.Restore == nil {
		all := f.rules()
		return all, all, nil
	}
	read := func(lines []string) (all []rule) {
		for _, line := range lines {
			r, ok := parseRule(line)
			if !ok || r.name != f.Name {
				err = modules.Refuse("the rule %q cannot be restored", line)
			}
			all = append(all, r)
		}
		return all
	}
	return read(f.Restore.InForce), read(f.Restore.Kept), err
}

func (f *Firewall) action(is ruleset, want []rule, do steps) string {
	was := shown(named(is.rules, f.Name))
	if do.script == "" {
		return "kept the rule"
	}
	if will := shown(want); was != will {
		return actionOf(was, will)
	}
	return "updated the rule"
}

// inForce returns the changes of the rules in force.
func (f *Firewall) inForce(is ruleset, want, rules []rule) []modules.Change {
	was, will := shown(named(is.rules, f.Name)), shown(want)
	if is.made && !is.whole {
		was = "in a table that another program has changed"
	}
	var all []modules.Change
	if was != will {
		all = append(all, modules.Change{Property: "in force", Have: was, Want: will})
	}
	for _, g := range is.gates {
		if g.differs(rules) {
			all = append(all, modules.Change{Property: g.String(), Have: f.through(g.open, g.rules), Want: f.through(true, g.passes(rules))})
		}
	}
	if len(all) == 0 { // another resource's
		all = append(all, modules.Change{Property: "in force", Have: "with something else", Want: "as it is made"})
	}
	return all
}

// through describes which packets of the resource a gate accepts.
func (f *Firewall) through(open bool, rules []rule) string {
	if !open {
		return absent
	}
	return shown(named(rules, f.Name))
}

// provider is the firewall that keeps the rule.
func (f *Firewall) provider(files modules.FileReader) string {
	return cmp.Or(f.Provider, incharge(files), nftables)
}

// manager returns the manager of the rule; nil means nftables itself.
func (f *Firewall) manager(files modules.FileReader) manager {
	switch f.provider(files) {
	case ufw:
		return ufwRules{}
	case firewalld:
		return f.firewalld(files)
	}
	return nil
}

// incharge names another firewall of a host; "" means none.
func incharge(files modules.FileReader) string {
	if ufwActive(files) {
		return ufw
	}
	if _, err := files.Stat("/run/systemd/units/invocation:firewalld.service"); err == nil { // systemd has this link for a running unit
		return firewalld
	}
	return ""
}

// refuseForeign refuses to accept packets that a chain drops, if the chain's program would remove our jump.
func refuseForeign(is ruleset, want []rule) error {
	for _, g := range is.gates {
		if by := g.foreign(); by != "" && g.passes(want) != nil {
			return modules.Refuse("the chain %s, managed by %s, drops packets that its own rules do not accept; add the rule with %s, or move the rules of this chain to nftables", g, by, by)
		}
	}
	return nil
}

// warn reports once why the rule may have no effect.
func (f *Firewall) warn(h modules.Host, is ruleset, want, kept []rule) {
	if f.warned {
		return
	}
	f.warned = true
	named := map[string]bool{}
	for _, r := range want {
		if r.verdict != accept {
			continue
		}
		for _, barrier := range barriers(is.chains, is.gates, r) {
			if !named[barrier] {
				named[barrier] = true
				h.Report.Message(modules.LevelWarning, "packets that this rule accepts may still be dropped by "+barrier)
			}
		}
		if strings.Contains(read(h.Files, "/proc/net/ip_tables_names"), "filter") && !named[""] {
			named[""] = true
			h.Report.Message(modules.LevelWarning, "packets that this rule accepts may still be dropped by rules of iptables-legacy, which nft does not list")
		}
	}
	if kept != nil && unloaded(h.Files) {
		h.Report.Message(modules.LevelWarning, fmt.Sprintf("the rules are saved, but nothing loads %s at boot: enable the service nftables", loads(h.Files)))
	}
}

// may returns an error unless the user is root.
func may(files modules.FileRights) error {
	if !modules.HasRootRights(files, loadFiles[0]) {
		return modules.Refuse(`only root may see and change which packets come in; use "become"`)
	}
	return nil
}

// Apply implements [modules.Resource]. The files are written last: a boot never loads rules that nft has
// refused. Check has refused files that cannot be written.
func (f *Firewall) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if calls, ok := p.Steps.([][]string); ok {
		return applyManaged(ctx, h, calls)
	}
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a firewall")
	}
	var files edit.Files
	if do.files != nil {
		_, kept, err := f.wanted()
		if err != nil {
			return err
		}
		if files, err = f.files(h.Files, do.is, kept); err != nil {
			return err
		}
	}
	var load func() error
	if do.script != "" {
		load = func() error {
			return modules.RunProgram(ctx, h, modules.Command{Argv: []string{"nft", "--file", "-"}, Stdin: do.script, Timeout: timeout})
		}
	}
	return files.ApplyAfter(ctx, h, do.files, load)
}
