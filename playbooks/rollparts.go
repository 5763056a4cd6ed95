package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// parts are the catalogs that the rollout of a play runs on hosts in addition to the play; nil means none.
type parts struct {
	before, after *catalog.Compiler // nil means none
	gates         []*catalog.Compiler
}

// The numbers of parts, by which a host distinguishes their catalogs from the catalog of the play.
const (
	beforePart = iota + 1
	afterPart
	gatePart
)

func (p *parts) compilers() []*catalog.Compiler {
	if p == nil {
		return nil
	}
	var all []*catalog.Compiler
	for _, c := range []*catalog.Compiler{p.before, p.after} {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// all returns the compilers, also the compilers of gates.
func (p *parts) all() []*catalog.Compiler {
	if p == nil {
		return nil
	}
	return append(p.compilers(), p.gates...)
}

// rolloutParts opens the folders of the additional parts of rollouts. All opened compilers are returned.
func (r *Runner) rolloutParts(ctx context.Context, opts catalog.Options, values []*inventoryValues) (all []*parts, compilers []*catalog.Compiler, err error) {
	var errs []error
	all = make([]*parts, len(r.Plays))
	for i, play := range r.Plays {
		if play.Rollout == nil {
			continue
		}
		opts.Inventory = values[i].of
		open := func(play *manifest.Play) *catalog.Compiler {
			if play == nil {
				return nil
			}
			c, err := r.compiler(ctx, play, opts)
			if errs = append(errs, err); c != nil {
				compilers = append(compilers, c)
			}
			return c
		}
		all[i] = &parts{before: open(play.Rollout.Before), after: open(play.Rollout.After)}
		for _, g := range play.Rollout.Gates {
			all[i].gates = append(all[i].gates, open(g.Check))
		}
	}
	return all, compilers, errors.Join(errs...)
}

// checkRollouts reports rollouts that cannot be carried out with these hosts.
func (r *Runner) checkRollouts(hosts [][]*inventory.Host) error {
	var errs []error
	for i, play := range r.Plays {
		switch {
		case play.Undo != nil:
		case play.Rollout != nil:
			errs = append(errs, r.checkRollout(play, hosts[i]))
		case r.Options.Canary != "" && len(hosts[i]) > 1:
			errs = append(errs, fmt.Errorf("--canary %s: play %q has no rollout, so it would begin with %d hosts; add a rollout to the play, or pass --rollout FILE", r.Options.Canary, play.Name, len(hosts[i])))
		}
	}
	return errors.Join(errs...)
}

// checkAsking reports rollouts that would prompt a person without a terminal.
func (r *Runner) checkAsking() error {
	var errs yamlpos.Errors
	if r.Options.Yes || r.Ask != nil || r.Options.Check {
		return nil
	}
	for _, play := range r.Plays {
		if p := play.Rollout; p != nil && play.Undo == nil && p.Pause && p.PauseDeadline == 0 {
			errs.Add(p.At.Errorf("write a deadline (pause: 30m), and answer with ccm-push rollout go; or pass --yes, to skip the pause", `"pause" prompts a person, but no terminal is available`))
		}
	}
	return errs.Err()
}

func (r *Runner) checkRollout(play *manifest.Play, hosts []*inventory.Host) error {
	var errs []error
	at := play.Rollout.At
	refuse := func(hint, format string, args ...any) {
		errs = append(errs, at.Errorf(hint, format, args...))
	}
	if share.Any([]*manifest.Play{play}) {
		refuse("move the resources that export or import values into an earlier play", "hosts of a rollout cannot wait for values of each other")
	}
	once := false
	manifest.Walk(play.Resources, func(r *manifest.Resource, _ int) { once = once || r.Once })
	if once {
		refuse(`move the resource with "once" into an earlier play`, `"once" needs all hosts of a batch at the same time, and the hosts of a rollout take turns`)
	}
	selected := setOf(names(hosts))
	known := map[string]bool{}
	play.Delegates(func(on *yamlpos.Node) {
		ofGate := slices.ContainsFunc(play.Rollout.Gates, func(g *manifest.Gate) bool { return g.On == on })
		if selected[on.Text] && !known[on.Text] && !ofGate {
			known[on.Text] = true
			errs = append(errs, on.Errorf(`remove it from "hosts", or roll it out in a separate play`, "%s is a host of this rollout, and a resource of others runs on it: both would wait for each other", on.Text))
		}
	})
	if by := play.Rollout.By; by != "" {
		var without []string
		for _, h := range hosts {
			if _, ok := groupOf(h, by); !ok {
				without = append(without, h.Name)
			}
		}
		if len(without) > 0 {
			refuse("give each host a value that is a text or a number", "by: %q is not a variable of %s", by, rollout.List(without))
		}
	}
	if r.Step != nil {
		refuse("", "--step and a rollout both prompt: remove --step; to run one host first, pass --canary HOST")
	}
	if canary := r.Options.Canary; canary != "" && !selected[canary] {
		errs = append(errs, fmt.Errorf("--canary %s is not a host of play %q", canary, play.Name))
	}
	return errors.Join(errs...)
}

// groupOf is the value of a variable of a host.
func groupOf(h *inventory.Host, by string) (string, bool) {
	if by == "" {
		return "", true
	}
	switch v := h.Vars()[by].(type) {
	case nil, map[string]any, []any:
		return "", false
	default:
		return fmt.Sprint(v), true
	}
}
