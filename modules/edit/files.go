package edit

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// Files are several files that one resource edits, one after the other.
type Files []*File

// Restoring returns the files that have a restore by their paths, with it set. If restores is nil, it returns all files
// unchanged.
func (all Files) Restoring(restores map[string]*Restore) Files {
	if restores == nil {
		return all
	}
	var those Files
	for _, f := range all {
		if f.Restore = restores[f.Path]; f.Restore != nil {
			those = append(those, f)
		}
	}
	return those
}

// Check is the Check of a resource that edits the files. The plan has no action; its Steps are nil if there is nothing
// to do.
func (all Files) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	var plan modules.Plan
	parts := make([]modules.Plan, len(all))
	for i, f := range all {
		part, err := f.Check(ctx, h)
		if err != nil {
			return modules.Plan{}, err
		}
		parts[i] = part
		plan.Add(part)
		if part.Pending() {
			plan.Steps = parts
		}
	}
	return plan, nil
}

// ApplyAfter calls live, which makes the kernel or a program accept the change now, and then carries out the Steps of a
// plan of Check, so the next boot loads only accepted settings. Without steps it calls live only. If live is nil, it
// changes the files only.
func (all Files) ApplyAfter(ctx context.Context, h modules.Host, steps any, live func() error) error {
	if live == nil {
		return all.Apply(ctx, h, steps)
	}
	if err := live(); err != nil || steps == nil {
		return err
	}
	// A change that is in effect is also written if the run is cancelled meanwhile.
	if err := all.Apply(context.WithoutCancel(ctx), h, steps); err != nil {
		return fmt.Errorf("the change is in effect until the next boot only: %w", err)
	}
	return nil
}

// Apply carries out the Steps of a plan of Check: all of them, or none.
func (all Files) Apply(ctx context.Context, h modules.Host, steps any) error {
	return all.ApplyThen(ctx, h, steps, func() error { return nil })
}

// ApplyThen carries out the Steps of a plan of Check, and then calls then. If that fails, it restores the files.
// Without steps it calls then only. Use it if the change needs the files; otherwise use [Files.ApplyAfter].
func (all Files) ApplyThen(ctx context.Context, h modules.Host, steps any, then func() error) error {
	if steps == nil {
		return then()
	}
	parts, ok := steps.([]modules.Plan)
	if !ok || len(parts) != len(all) {
		return errors.New("the plan is not one of files that are edited")
	}
	var paths []string
	for i, f := range all {
		if parts[i].Pending() {
			paths = append(paths, f.Path)
		}
	}
	return modules.OrPutBack(ctx, h, paths, func() error {
		for i, f := range all {
			if !parts[i].Pending() {
				continue
			}
			if err := f.Apply(ctx, h, parts[i]); err != nil {
				return err
			}
		}
		return then()
	})
}

// Reversal returns the restores of the files, by path, as the property "restore" of a [modules.Reverser]. kept is this
// property of the stored resource, or nil.
func (all Files) Reversal(h modules.Host, kept map[string]*Restore) (map[string]*Restore, error) {
	back := map[string]*Restore{}
	for _, f := range all {
		r, err := f.reversal(h, kept[f.Path])
		if err != nil {
			return nil, err
		}
		if r == nil {
			r = kept[f.Path]
		}
		back[f.Path] = r
	}
	return back, nil
}

// Paths are the paths of the files.
func (all Files) Paths() []string {
	paths := make([]string, len(all))
	for i, f := range all {
		paths[i] = f.Path
	}
	return paths
}
