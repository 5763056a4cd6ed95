package repository

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// steps are the steps of Apply.
type steps struct {
	provider string
	key      *keySteps
	files    []any // steps of each file; nil means none
	needs    [][]modules.Content
	read     modules.Content // definition whose lists are fetched first; the zero Content means none
}

// on returns the definition for the package manager of a host.
func (r *Repository) on(h modules.Host) (definition, error) {
	provider, err := r.managers.By(h, r.Provider)
	d := definition{r, provider}
	switch {
	case err != nil || r.Restore != nil || r.Ensure == absent:
		return d, err
	case provider == apt && len(r.Suites) == 0:
		return definition{}, modules.Refuse(`this host has apt, for which "suites" is needed (write suites: [bookworm] with "components", or suites: [./])`)
	case provider == apt && len(r.URIs) == 0:
		return definition{}, modules.Refuse(`this host has apt, which has neither "mirrorlist" nor "metalink" (write "uris")`)
	case provider != apt && len(r.Suites) > 0:
		return definition{}, modules.Refuse(`this host has %s, which has no "suites" (remove "suites" and "components", or select hosts with "control")`, provider)
	case provider == "zypper" && r.Metalink != "":
		return definition{}, modules.Refuse(`zypper has no "metalink" (write "mirrorlist" or "uris")`)
	case provider != apt && (r.Priority < 0 || r.Priority > 99):
		return definition{}, modules.Refuse("priority %d is outside 1-99, which %s has", r.Priority, provider)
	}
	return d, nil
}

// Check implements [modules.Resource].
func (r *Repository) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	d, err := r.on(h)
	if err != nil {
		return modules.Plan{}, err
	}
	warning, err := d.amongOthers(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	if warning != "" {
		h.Report.Message(modules.LevelWarning, warning)
	}
	do := steps{provider: d.provider}
	var plan modules.Plan
	var actions []string
	if do.key, err = d.checkKey(h, &plan); err != nil {
		return modules.Plan{}, err
	}
	for _, f := range d.files() {
		part, err := f.Check(ctx, h)
		if err != nil {
			return modules.Plan{}, err
		}
		do.files, do.needs = append(do.files, part.Steps), append(do.needs, part.Needs)
		if !part.Pending() {
			continue
		}
		action := part.Action
		if action == "created the file" { // it belongs to this repository alone
			action = "added the repository"
			if f.Path == d.pinned() {
				action = "set its priority"
			}
		}
		actions = append([]string{action}, actions...)
		plan.Changes = append(plan.Changes, part.Changes...)
		plan.Effects = append(plan.Effects, part.Effects...)
		plan.Texts, plan.Needs = append(plan.Texts, part.Texts...), append(plan.Needs, part.Needs...)
	}
	if do.key != nil {
		actions = append(actions, map[bool]string{true: "removed its key", false: "installed its key"}[do.key.remove])
	}
	if len(actions) == 0 {
		return modules.Plan{}, nil
	}
	if r.reads() {
		if err := r.managers.MayFetch(h, d.provider); err != nil {
			return modules.Plan{}, err
		}
		do.read = modules.TextContent(strings.Join(d.lines(), "\n") + "\n")
		plan.MayFail = true
	}
	plan.Action, plan.Steps = strings.Join(actions, " and "), do
	plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.OffersEffect})
	return plan, nil
}

// Apply implements [modules.Resource]. It puts the definition in place only after the repository has been read: with an
// unreachable repository the package manager would fail for all others, too.
func (r *Repository) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a repository")
	}
	d := definition{r, do.provider}
	var key []byte
	back := func(context.Context) error { return nil }
	if do.key != nil {
		var err error
		if !do.key.remove {
			if key, err = r.bytes(ctx, h, do.key); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !do.key.remove {
			if back, err = do.key.put(ctx, h, key); err != nil {
				return err
			}
		}
	}
	err := d.change(ctx, h, p, do)
	if err != nil {
		return errors.Join(err, back(context.WithoutCancel(ctx)))
	}
	if do.key != nil && do.key.remove { // once nothing names it
		if _, err = do.key.put(ctx, h, nil); err != nil {
			var gone []string
			for i, f := range d.files() {
				if do.files[i] != nil {
					gone = append(gone, f.Path)
				}
			}
			return fmt.Errorf("%w; what names the key has been removed already (%s)", err, strings.Join(gone, ", "))
		}
	}
	return err
}

// change reads the repository, and writes its files.
func (d definition) change(ctx context.Context, h modules.Host, p modules.Plan, do steps) error {
	if err := d.read(ctx, h, do); err != nil {
		return err
	}
	files := d.files()
	var paths []string
	for i, f := range files {
		if do.files[i] != nil {
			paths = append(paths, f.Path)
		}
	}
	return modules.OrPutBack(ctx, h, paths, func() error {
		for i, f := range files {
			if do.files[i] == nil {
				continue
			}
			part := p
			part.Steps, part.Needs = do.files[i], do.needs[i]
			if err := f.Apply(ctx, h, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// read runs the package manager to fetch the lists of the repository, from a definition that only this call uses.
func (d definition) read(ctx context.Context, h modules.Host, do steps) error {
	if do.read.IsZero() {
		return nil
	}
	at, _ := d.at()
	dir := "/run/ccm-push-repository-" + rand.Text()
	if err := h.Files.MakeDir(ctx, dir, modules.Attributes{Mode: 0o700, UID: -1, GID: -1}); err != nil {
		return err
	}
	defer func() { _ = h.Files.Remove(context.WithoutCancel(ctx), dir, true) }()
	b, _ := do.read.Bytes()
	file := path.Join(dir, "new"+path.Ext(at))
	if err := h.Files.Write(ctx, file, strings.NewReader(string(b)), modules.Attributes{Mode: 0o644, UID: -1, GID: -1}); err != nil {
		return err
	}
	if key := d.keyRead(); key != "" && d.provider == "zypper" {
		return d.managers.Fetch(ctx, h, d.provider, dir, key)
	}
	return d.managers.Fetch(ctx, h, d.provider, dir, "")
}
