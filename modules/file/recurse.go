package file

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// Limits of a directory and its contents.
const (
	maxDepth   = 200    // directories in each other
	maxNamed   = 20     // changes inside that a result shows
	maxEffects = 10_000 // predicted paths; with more of them, their state is unknown to other resources
)

// A below holds the content of a directory, at any depth, except symbolic links and mount points.
type below struct {
	*File // with numbers of owner and group
	h     modules.Host
	// each is called with the differences of one directory.
	each func(ctx context.Context, differ []belowPlan) error
}

// A belowPlan is the plan of one path.
type belowPlan struct {
	name string
	kind modules.FileKind
	modules.Plan
}

// below prepares to walk through the directory.
func (f *File) below(ctx context.Context, h modules.Host) (*below, error) {
	ids, err := modules.Attributes{UID: -1, GID: -1}.Given(ctx, h.Accounts, f.Owner, f.Group, "")
	if err != nil {
		return nil, err
	}
	numbered := *f
	if ids.UID >= 0 {
		numbered.Owner = strconv.Itoa(ids.UID)
	}
	if ids.GID >= 0 {
		numbered.Group = strconv.Itoa(ids.GID)
	}
	return &below{File: &numbered, h: h}, nil
}

// walk goes from the top down: a user that no longer owns a directory can put nothing more into it. It checks all
// entries of a directory before it enters one.
func (b *below) walk(ctx context.Context, dir string, depth int) error {
	if depth == maxDepth {
		return modules.Refuse("%s: more than %d directories are in each other", dir, maxDepth)
	}
	names, err := b.h.Files.List(dir)
	if err != nil {
		return err
	}
	mounted := map[string]bool{}
	for _, point := range b.h.Files.MountPoints(dir) {
		mounted[point.Below] = true
	}
	var differ []belowPlan
	var dirs []string
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if mounted[name] {
			continue
		}
		name = filepath.Join(dir, name)
		at, err := b.h.Files.Stat(name)
		switch {
		case modules.NotThere(err):
			continue // it has just been removed
		case err != nil:
			return err
		case at.Kind == modules.Symlink:
			continue
		case at.Kind == modules.Directory:
			dirs = append(dirs, name)
		}
		plan, err := b.resource(name, at.Kind).compare(b.h, found{FileInfo: at}).checkAttributes(ctx)
		if err != nil {
			return err
		}
		if plan.Pending() {
			differ = append(differ, belowPlan{name, at.Kind, plan})
		}
	}
	if len(differ) > 0 {
		if err := b.each(ctx, differ); err != nil {
			return err
		}
	}
	for _, name := range dirs {
		if err := b.walk(ctx, name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// resource is the desired state of one path in the directory. A mode in octal is for directories.
func (b *below) resource(name string, kind modules.FileKind) *File {
	one := &File{Name: name, Ensure: present, Owner: b.Owner, Group: b.Group, Mode: b.FileMode}
	switch {
	case kind == modules.Directory:
		one.Ensure, one.Mode = directory, b.Mode
	case b.FileMode == "" && symbolic(b.Mode):
		one.Mode = b.Mode
	}
	return one
}

// checkAttributes compares owner, group and mode of the path.
func (c *comparison) checkAttributes(ctx context.Context) (_ modules.Plan, err error) {
	if c.want, err = c.attributes(ctx, c.at.FileInfo); err != nil {
		return modules.Plan{}, err
	}
	return c.compareAttributes(ctx)
}

// checkBelow adds the differences in the directory to its plan.
func (c *comparison) checkBelow(ctx context.Context, plan modules.Plan) (modules.Plan, error) {
	b, err := c.below(ctx, c.h)
	if err != nil {
		return modules.Plan{}, err
	}
	s, _ := plan.Steps.(steps)
	count, named, opaque := 0, 0, false
	b.each = func(_ context.Context, differ []belowPlan) error {
		for _, d := range differ {
			if count++; named < maxNamed {
				named++
				for _, change := range d.Changes {
					change.Property = d.name[len(c.Name)+1:] + " " + change.Property
					plan.Changes = append(plan.Changes, change)
				}
			}
			for _, e := range d.Effects {
				if e.Kind != modules.PathEffect {
					opaque = true
				} else if count <= maxEffects {
					state := e.State.(modules.PathState)
					state.Stays = true
					plan.Effects = append(plan.Effects, effect(e.Key, state))
				}
			}
		}
		return nil
	}
	if err := b.walk(ctx, c.Name, 0); err != nil || count == 0 {
		return plan, err
	}
	if count > named {
		plan.Changes = append(plan.Changes, modules.Change{Property: "others", Have: fmt.Sprintf("%d more paths", count-named), Want: "changed"})
	}
	if count > maxEffects {
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: c.Name})
	}
	if opaque {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	if s.do == setAttributes {
		count++
	}
	plan.Action = fmt.Sprintf("updated attributes of %d paths", count)
	if count == 1 {
		plan.Action = "updated attributes of 1 path"
	}
	plan.Steps = steps{do: setBelow, want: s.want, top: s.do == setAttributes}
	return plan, nil
}

// applyBelow sets the attributes of the directory, and then of its contents. It checks again: it changes only the
// differences that it finds then, and nothing outside of the directory, whatever links are created there.
func (f *File) applyBelow(ctx context.Context, h modules.Host, s steps) error {
	if s.top {
		s.want.Of = modules.Directory
		if err := h.Files.SetAttributes(ctx, f.Name, s.want); err != nil {
			return err
		}
	}
	b, err := f.below(ctx, h)
	if err != nil {
		return err
	}
	inside := h.Files.Within(f.Name)
	b.each = func(ctx context.Context, differ []belowPlan) error {
		if h.KeepAttributes != nil {
			names := make([]string, len(differ))
			for i, d := range differ {
				names[i] = d.name
			}
			h.KeepAttributes(ctx, names...)
		}
		for _, d := range differ {
			want := d.Steps.(steps).want
			want.Of = d.kind
			if err := inside.SetAttributes(ctx, d.name, want); err != nil && !modules.NotThere(err) {
				return err
			}
		}
		return nil
	}
	return b.walk(ctx, f.Name, 0)
}

// validateBelow validates recurse and the properties that need it.
func (f *File) validateBelow() error {
	switch {
	case f.Recurse && f.Ensure == absent:
		return &modules.PropertyError{Path: "recurse", Msg: "'recurse' applies to 'owner', 'group' and 'mode', and cannot be used with 'ensure: absent'", Hint: "write force: true to remove a directory with everything in it"}
	case f.Recurse && f.Ensure != directory:
		return &modules.PropertyError{Path: "recurse", Msg: "'recurse: true' is only valid with 'ensure: directory'", Hint: "write ensure: directory"}
	case f.Recurse && f.Name == "/":
		return modules.Errorf("recurse", "'recurse' is not for the root directory")
	case f.Recurse && f.Owner == "" && f.Group == "" && f.Mode == "" && f.FileMode == "":
		return &modules.PropertyError{Path: "recurse", Msg: "'recurse' has nothing to apply to the files in the directory", Hint: `write "owner", "group", "mode" or "file_mode"`}
	case f.FileMode != "" && !f.Recurse:
		return &modules.PropertyError{Path: "file_mode", Msg: "'file_mode' is only valid with 'recurse: true'", Hint: `write "mode"`}
	}
	return nil
}
