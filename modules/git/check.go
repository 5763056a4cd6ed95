package git

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// checkoutEffect is the kind of effect whose key is the path of a checkout and whose state a checkout.
const checkoutEffect modules.EffectKind = "git"

// steps are the steps of Apply.
type steps struct {
	have checkout
	want string // commit
	into modules.Attributes
	// lone means that the commit of HEAD is on no branch and no tag.
	lone bool
}

// Check implements [modules.Resource].
func (g *Git) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	have, err := g.have(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	if g.Ensure == absent {
		return g.checkAbsent(ctx, h, have)
	}
	if len(have.stuck) > 0 {
		return modules.Plan{}, modules.Refuse("files in the submodules %s of %q have local changes: commit or revert these changes on the host", some(have.stuck), g.Name)
	}
	if len(have.changed) > 0 && !g.Force {
		return modules.Plan{}, modules.Refuse("files in %q have local changes: %s%s", g.Name, some(have.changed),
			g.orForce("commit or remove that; with 'force: true' it is kept as a commit, and does not stop the play"))
	}
	want, err := g.wanted(ctx, h, have)
	if err != nil {
		return modules.Plan{}, err
	}
	plan, do, err := g.compare(ctx, h, have, want)
	if err != nil || !plan.Pending() {
		return modules.Plan{}, err
	}
	if have.commit != want {
		if err := g.possible(ctx, h, &do, &plan); err != nil {
			return modules.Plan{}, err
		}
	}
	plan.Steps = do
	if have.commit != want || len(have.changed) > 0 || have.modules > 0 {
		// The new files are not known, nor whether the source can be reached.
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: g.Name})
	}
	will := checkout{is: true, dir: modules.FileInfo{Kind: modules.Directory}, commit: want, branch: g.Branch, source: g.Source, predicted: true}
	plan.Effects = append(plan.Effects, modules.Effect{Kind: checkoutEffect, Key: g.Name, State: will})
	return plan, nil
}

// have returns the state of the checkout, in a check run the predicted one.
func (g *Git) have(ctx context.Context, h modules.Host) (checkout, error) {
	if state, predicted := h.Forecast.Lookup(checkoutEffect, g.Name); predicted {
		return state.(checkout), nil
	}
	return g.find(ctx, h)
}

// compare returns the differences from a checkout of a commit.
func (g *Git) compare(ctx context.Context, h modules.Host, have checkout, want string) (modules.Plan, steps, error) {
	do := steps{have: have, want: want}
	var plan modules.Plan
	differs := func(action, property, is, shall string) {
		if plan.Action == "" {
			plan.Action = action
		}
		plan.Changes = append(plan.Changes, modules.Change{Property: property, Have: is, Want: shall})
	}
	switch {
	case have.commit == "":
		differs("cloned the repository", "revision", absent, want)
		return plan, do, nil
	case have.commit != want:
		differs("checked out "+short(want), "revision", have.commit, want)
	case !have.predicted:
		if _, will := h.Forecast.Lookup(modules.PathEffect, g.Signers); !will {
			if err := (program{g, h, g.Name}).verify(ctx, want); err != nil {
				return plan, do, err
			}
		}
	}
	if len(have.changed) > 0 {
		differs("put back changed files", "changed files", some(have.changed), "none")
	}
	if g.Branch != "" && have.branch != g.Branch {
		differs("checked out "+g.Branch, "branch", have.branch, g.Branch)
	}
	if have.modules > 0 {
		differs("checked out submodules", "submodules", fmt.Sprintf("%d differ", have.modules), "as the commit has them")
	}
	if have.source != g.Source {
		differs("changed the source", "source", shown(have.source), shown(g.Source))
	}
	return plan, do, nil
}

// possible refuses changes that would fail.
func (g *Git) possible(ctx context.Context, h modules.Host, do *steps, plan *modules.Plan) error {
	uid, err := h.Accounts.UserID(ctx, g.who())
	if err != nil {
		return modules.Refuse("user: %w", err)
	}
	if do.have.commit == "" {
		do.into = modules.Attributes{Mode: 0o755, UID: uid, GID: -1}
		if do.have.dir.Kind == modules.Directory { // an empty one
			do.into = modules.KeptAttributes(h.Forecast, g.Name, do.have.dir)
			if owner := do.into.UID; owner >= 0 && owner != uid {
				return g.belongs(ctx, h, owner, uid)
			}
		}
		plan.Effects = append(plan.Effects, modules.Effect{
			Kind: modules.PathEffect, Key: g.Name,
			State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true},
		})
		if err := modules.InDirectory(h.Files, g.Name); err != nil {
			return err
		}
		_, err := modules.PlanIfPermitted(*plan, h.Files.MayReplace(g.Name), h.Files.MayCreate(do.into))
		return err
	}
	if do.have.predicted { // a checkout that is only predicted has no local commits
		return nil
	}
	at := program{g, h, g.Name}
	there, err := at.has(ctx, do.want)
	if err == nil && there {
		err = at.verify(ctx, do.want)
	}
	if err != nil {
		return err
	}
	if do.have.branch != "" {
		return nil
	}
	text, err := at.answer(ctx, "for-each-ref", "--contains", do.have.commit, "--count=1")
	if err != nil {
		return err
	}
	if do.lone = text == ""; do.lone && !g.Force {
		return modules.Refuse("commit %s, which is checked out in %q, is on no branch and would be lost%s", short(do.have.commit), g.Name,
			g.orForce("give it one; with 'force: true' it is kept"))
	}
	return nil
}

func (g *Git) checkAbsent(ctx context.Context, h modules.Host, have checkout) (modules.Plan, error) {
	if !have.is {
		return modules.Plan{}, nil
	}
	if !g.Force && !have.predicted {
		own, err := program{g, h, g.Name}.own(ctx, have)
		if err != nil {
			return modules.Plan{}, err
		}
		if own != "" {
			return modules.Plan{}, modules.Refuse("%q has %s%s", g.Name, own, g.orForce("with 'force: true' it is removed all the same"))
		}
	}
	left := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}
	if g.Directory {
		left = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true}
	}
	plan := modules.Plan{
		Action:  "removed the checkout",
		Changes: []modules.Change{{Property: "ensure", Have: present, Want: absent}},
		Effects: []modules.Effect{
			{Kind: modules.PathEffect, Key: g.Name, State: left},
			{Kind: checkoutEffect, Key: g.Name, State: checkout{dir: left.FileInfo}},
		},
		Steps: steps{have: have, into: modules.KeptAttributes(h.Forecast, g.Name, have.dir)},
	}
	return modules.PlanIfPermitted(plan, modules.MayRemoveTree(ctx, h.Files, g.Name))
}
