package archive

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// steps are the steps of Apply, in this order.
type steps struct {
	remove     bool // and nothing else
	obtain     origin
	extract    bool
	place      bool // move the obtained file to the archive's path
	cleanup    bool // remove the archive
	attributes bool // set the attributes of the existing archive
	want       modules.Attributes
}

// origin is the place from which Apply gets the archive.
type origin int

const (
	nowhere origin = iota
	fromServer
	fromHost // the existing archive
)

// found is an archive and its state on a host.
type found struct {
	*Archive
	h       modules.Host
	at      modules.FileInfo // info about the archive file
	want    modules.Attributes
	there   bool // the path is a regular file
	differs bool // its checksum differs from the given one
	missing bool // creates is set and does not exist
	changes []modules.Change
}

// Check implements [modules.Resource].
func (a *Archive) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := a.check(ctx, h)
	return plan, modules.PermissionRefusal(err)
}

func (a *Archive) check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	at, err := h.Files.Stat(a.Name)
	switch {
	case modules.NotThere(err):
		at = modules.FileInfo{Kind: modules.Absent}
	case err != nil:
		return modules.Plan{}, err
	case at.Kind == modules.Directory:
		return modules.Plan{}, modules.Refuse("%s is a directory; cannot manage it as an archive", a.Name)
	case at.Kind == modules.Special:
		return modules.Plan{}, modules.Refuse("%s is a device, socket or pipe; refusing to replace it", a.Name)
	}
	f := &found{Archive: a, h: h, at: at, there: at.Kind == modules.Regular}
	if a.Ensure == absent {
		return f.checkAbsent()
	}
	return f.checkPresent(ctx)
}

func (f *found) checkAbsent() (modules.Plan, error) {
	if f.at.Kind == modules.Absent {
		return modules.Plan{}, nil
	}
	plan := modules.Plan{
		Action:  "removed",
		Changes: []modules.Change{{Property: "ensure", Have: present, Want: absent}},
		Effects: []modules.Effect{gone(f.Name)},
		Steps:   &steps{remove: true},
	}
	return modules.PlanIfPermitted(plan, f.h.Files.MayReplace(f.Name))
}

func gone(name string) modules.Effect {
	return pathEffect(name, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}})
}

func pathEffect(name string, state modules.PathState) modules.Effect {
	return modules.Effect{Kind: modules.PathEffect, Key: name, State: state}
}

func (f *found) checkPresent(ctx context.Context) (_ modules.Plan, err error) {
	if f.want, err = f.attributes(ctx); err != nil {
		return modules.Plan{}, err
	}
	if f.missing, err = missing(f.h.Files, f.Creates); err != nil {
		return modules.Plan{}, err
	}
	if f.missing {
		f.changes = append(f.changes, modules.Change{Property: "creates", Have: absent, Want: present})
	}
	if f.Cleanup && !f.missing {
		return f.checkLeftOver()
	}
	if f.there && f.Checksum != "" {
		if err := f.compare(); err != nil {
			return modules.Plan{}, err
		}
	}
	if !f.there && !f.Cleanup {
		f.changes = append(f.changes, modules.Change{Property: "ensure", Have: string(f.at.Kind), Want: present})
	}
	s := &steps{want: f.want}
	switch verified := f.there && f.Checksum != "" && !f.differs; {
	case !f.there, f.differs, f.missing && !verified:
		s.obtain, s.place = fromServer, !f.Cleanup
		s.extract = f.ExtractParent != ""
	case f.missing && f.ExtractParent != "":
		s.obtain, s.extract = fromHost, true
	}
	s.cleanup = f.Cleanup && f.there
	if f.there && !f.Cleanup {
		differs := f.differences(ctx)
		s.attributes = len(differs) > 0 && !s.place
		f.changes = append(f.changes, differs...)
	}
	plan, err := f.plan(s)
	if s.attributes && f.at.Links > 1 { // it changes under its other names too
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return plan, err
}

// checkLeftOver plans the removal of an archive that has been unpacked, and is not needed any more.
func (f *found) checkLeftOver() (modules.Plan, error) {
	if !f.there {
		return modules.Plan{}, nil
	}
	plan := modules.Plan{
		Action:  "cleaned up",
		Changes: []modules.Change{{Property: "cleanup", Have: present, Want: absent}},
		Effects: []modules.Effect{gone(f.Name)},
		Steps:   &steps{cleanup: true},
	}
	return modules.PlanIfPermitted(plan, f.h.Files.MayReplace(f.Name))
}

// missing reports whether the path in creates does not exist.
func missing(files modules.FileReader, creates string) (bool, error) {
	if creates == "" {
		return false, nil
	}
	_, err := files.Stat(creates)
	if modules.NotThere(err) {
		return true, nil
	}
	return false, err
}

// compare compares the archive file with the checksum.
func (f *found) compare() error {
	digest, err := f.h.Files.Digest(f.Name)
	if modules.NotThere(err) { // the archive is only predicted, so its attributes are unknown
		digest, err = "unknown", nil
	}
	if f.differs = digest != f.digest(); f.differs {
		f.changes = append(f.changes, modules.Change{Property: "checksum", Have: digest, Want: f.digest()})
	}
	return err
}

// attributes returns the desired attributes of the archive file.
func (f *found) attributes(ctx context.Context) (modules.Attributes, error) {
	want := modules.NewAttributes(0o600, false)
	if f.at.Kind == modules.Regular {
		want = modules.KeptAttributes(f.h.Forecast, f.Name, f.at)
	}
	return want.Given(ctx, f.h.Accounts, f.Owner, f.Group, f.Mode)
}

func (f *found) differences(ctx context.Context) []modules.Change {
	at, want, accounts := f.at, f.want, f.h.Accounts
	var changes []modules.Change
	if f.Owner != "" && at.UID != want.UID {
		changes = append(changes, modules.Change{Property: "owner", Have: accounts.UserName(ctx, at.UID), Want: accounts.UserName(ctx, want.UID)})
	}
	if f.Group != "" && at.GID != want.GID {
		changes = append(changes, modules.Change{Property: "group", Have: accounts.GroupName(ctx, at.GID), Want: accounts.GroupName(ctx, want.GID)})
	}
	if at.Mode != want.Mode {
		changes = append(changes, modules.Change{Property: "mode", Have: modules.FormatMode(at.Mode), Want: modules.FormatMode(want.Mode)})
	}
	return changes
}

// plan returns the plan of steps for an archive with ensure: present. Without steps the plan is empty.
func (f *found) plan(s *steps) (modules.Plan, error) {
	plan := modules.Plan{Action: s.action(), Changes: f.changes, Steps: s}
	var rights []error
	if s.obtain == fromServer && !f.Content.IsZero() {
		plan.Needs = []modules.Content{f.Content}
	}
	if s.obtain != nowhere || s.cleanup {
		if err := modules.InDirectory(f.h.Files, f.Name); err != nil {
			return modules.Plan{}, err
		}
		rights = append(rights, f.h.Files.MayReplace(f.Name))
	}
	if s.place {
		rights = append(rights, f.h.Files.MayCreate(f.want))
	}
	if s.attributes {
		rights = append(rights, f.h.Files.MaySetAttributes(f.Name, f.want))
	}
	if s.place || s.attributes {
		plan.Effects = append(plan.Effects, pathEffect(f.Name, modules.PathState{
			FileInfo: modules.FileInfo{Kind: modules.Regular, Mode: f.want.Mode, UID: f.want.UID, GID: f.want.GID},
			Partial:  true,
		}))
	}
	if s.cleanup {
		plan.Effects = append(plan.Effects, gone(f.Name))
	}
	switch {
	case s.extract:
		effects, err := f.extracting()
		if err != nil {
			return modules.Plan{}, err
		}
		plan.Effects = append(plan.Effects, effects...)
	case s.obtain == fromServer: // only a request shows whether the server has it
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: f.Name})
	}
	if plan.Action == "" {
		return modules.Plan{}, nil
	}
	return modules.PlanIfPermitted(plan, rights...)
}

func (s *steps) action() string {
	var parts []string
	add := func(done bool, part string) {
		if done {
			parts = append(parts, part)
		}
	}
	add(s.obtain == fromServer, "downloaded")
	add(s.extract, "extracted")
	add(s.cleanup || s.obtain == fromServer && !s.place, "cleaned up")
	add(s.attributes, "updated attributes")
	return strings.Join(parts, ". ")
}

// extracting returns the effects of unpacking, or refuses it.
func (f *found) extracting() ([]modules.Effect, error) {
	var effects []modules.Effect
	missing := ""
	for dir := f.ExtractParent; ; dir = path.Dir(dir) {
		info, err := modules.Follow(f.h.Files, dir)
		if err == nil && info.Kind == modules.Directory {
			break
		}
		if err == nil || !modules.NotThere(err) {
			return nil, orRefuse(err, dir)
		}
		if _, err := f.h.Files.Stat(dir); err == nil {
			return nil, modules.Refuse("%s is a link to nothing; refusing to unpack there", dir)
		}
		missing = dir
		effects = append(effects, pathEffect(dir, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true}))
	}
	// From the top down, as they will be made.
	slices.Reverse(effects)
	right := f.h.Files.MayReplace(path.Join(f.ExtractParent, "any"))
	if missing != "" {
		right = f.h.Files.MayReplace(missing)
	}
	if right != nil {
		_, err := modules.PlanIfPermitted(modules.Plan{}, right)
		return nil, err
	}
	effects = append(effects, f.unpacked()...)
	if f.Creates != "" {
		effects = append(effects, pathEffect(f.Creates, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true}))
	}
	return effects, nil
}

// unpacked returns the effects below ExtractParent. Archives of releases contain one folder, such as app-1.2 in
// app-1.2.tar.gz: if Creates lies in such a folder, all new paths likely do.
func (f *found) unpacked() []modules.Effect {
	top, inside, _ := strings.Cut(strings.TrimPrefix(f.Creates, strings.TrimSuffix(f.ExtractParent, "/")+"/"), "/")
	if inside == "" || !modules.Inside(f.Creates, f.ExtractParent) || !strings.HasPrefix(path.Base(f.Name), top+".") {
		return []modules.Effect{{Kind: modules.BelowEffect, Key: f.ExtractParent}}
	}
	return []modules.Effect{
		{Kind: modules.BelowEffect, Key: f.ExtractParent, Likely: true},
		{Kind: modules.BelowEffect, Key: path.Join(f.ExtractParent, top)},
	}
}

func orRefuse(err error, dir string) error {
	if err != nil {
		return err
	}
	return modules.Refuse("%q is not a directory", dir)
}
