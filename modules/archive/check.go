package archive

import (
	"context"
	"path"
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
	if a.Ensure == absent {
		return a.checkAbsent(h.Files, at)
	}
	return a.checkPresent(ctx, h, at)
}

func (a *Archive) checkAbsent(files modules.Files, at modules.FileInfo) (modules.Plan, error) {
	if at.Kind == modules.Absent {
		return modules.Plan{}, nil
	}
	plan := modules.Plan{
		Action:  "removed",
		Changes: []modules.Change{{Property: "ensure", Have: present, Want: absent}},
		Effects: []modules.Effect{a.gone()},
		Steps:   &steps{remove: true},
	}
	return modules.PlanIfPermitted(plan, files.MayReplace(a.Name))
}

func (a *Archive) gone() modules.Effect {
	return pathEffect(a.Name, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}})
}

func pathEffect(name string, state modules.PathState) modules.Effect {
	return modules.Effect{Kind: modules.PathEffect, Key: name, State: state}
}

// found is the state of an archive on a host.
type found struct {
	modules.FileInfo      // info about the archive file
	there            bool // the path is a regular file
	differs          bool // its checksum differs from the given one
	missing          bool // creates is set and does not exist
	changes          []modules.Change
}

func (a *Archive) checkPresent(ctx context.Context, h modules.Host, at modules.FileInfo) (modules.Plan, error) {
	want, err := a.attributes(ctx, h, at)
	if err != nil {
		return modules.Plan{}, err
	}
	have := found{FileInfo: at, there: at.Kind == modules.Regular}
	if have.missing, err = a.createsMissing(h.Files); err != nil {
		return modules.Plan{}, err
	}
	if have.missing {
		have.changes = append(have.changes, modules.Change{Property: "creates", Have: absent, Want: present})
	}
	if a.Cleanup && !have.missing {
		return a.checkLeftOver(h.Files, have)
	}
	if have.there && a.Checksum != "" {
		if err := a.compare(h.Files, &have); err != nil {
			return modules.Plan{}, err
		}
	}
	if !have.there && !a.Cleanup {
		have.changes = append(have.changes, modules.Change{Property: "ensure", Have: string(at.Kind), Want: present})
	}
	s := &steps{want: want}
	switch verified := have.there && a.Checksum != "" && !have.differs; {
	case !have.there, have.differs, have.missing && !verified:
		s.obtain, s.place = fromServer, !a.Cleanup
		s.extract = a.ExtractParent != ""
	case have.missing && a.ExtractParent != "":
		s.obtain, s.extract = fromHost, true
	}
	s.cleanup = a.Cleanup && have.there
	if have.there && !a.Cleanup {
		differs := a.differences(ctx, h.Accounts, at, want)
		s.attributes = len(differs) > 0 && !s.place
		have.changes = append(have.changes, differs...)
	}
	plan, err := a.plan(h.Files, s, have.changes, want)
	if s.attributes && at.Links > 1 { // it changes under its other names too
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return plan, err
}

// checkLeftOver plans the removal of an archive that has been unpacked, and is not needed any more.
func (a *Archive) checkLeftOver(files modules.Files, have found) (modules.Plan, error) {
	if !have.there {
		return modules.Plan{}, nil
	}
	plan := modules.Plan{
		Action:  "cleaned up",
		Changes: []modules.Change{{Property: "cleanup", Have: present, Want: absent}},
		Effects: []modules.Effect{a.gone()},
		Steps:   &steps{cleanup: true},
	}
	return modules.PlanIfPermitted(plan, files.MayReplace(a.Name))
}

func (a *Archive) createsMissing(files modules.FileReader) (bool, error) {
	if a.Creates == "" {
		return false, nil
	}
	_, err := files.Stat(a.Creates)
	if modules.NotThere(err) {
		return true, nil
	}
	return false, err
}

// compare compares the archive file with the checksum.
func (a *Archive) compare(files modules.FileReader, have *found) error {
	digest, err := files.Digest(a.Name)
	if modules.NotThere(err) { // the archive is only predicted, so its attributes are unknown
		digest, err = "unknown", nil
	}
	if have.differs = digest != a.digest(); have.differs {
		have.changes = append(have.changes, modules.Change{Property: "checksum", Have: digest, Want: a.digest()})
	}
	return err
}

// attributes are the desired attributes of the archive file.
func (a *Archive) attributes(ctx context.Context, h modules.Host, at modules.FileInfo) (modules.Attributes, error) {
	want := modules.NewAttributes(0o600, false)
	if at.Kind == modules.Regular {
		want = modules.KeptAttributes(h.Forecast, a.Name, at)
	}
	return want.Given(ctx, h.Accounts, a.Owner, a.Group, a.Mode)
}

func (a *Archive) differences(ctx context.Context, accounts modules.Accounts, at modules.FileInfo, want modules.Attributes) []modules.Change {
	var changes []modules.Change
	if a.Owner != "" && at.UID != want.UID {
		changes = append(changes, modules.Change{Property: "owner", Have: accounts.UserName(ctx, at.UID), Want: accounts.UserName(ctx, want.UID)})
	}
	if a.Group != "" && at.GID != want.GID {
		changes = append(changes, modules.Change{Property: "group", Have: accounts.GroupName(ctx, at.GID), Want: accounts.GroupName(ctx, want.GID)})
	}
	if at.Mode != want.Mode {
		changes = append(changes, modules.Change{Property: "mode", Have: modules.FormatMode(at.Mode), Want: modules.FormatMode(want.Mode)})
	}
	return changes
}

// plan returns the plan of steps for an archive with ensure: present. Without steps the plan is empty.
func (a *Archive) plan(files modules.Files, s *steps, changes []modules.Change, want modules.Attributes) (modules.Plan, error) {
	plan := modules.Plan{Action: s.action(), Changes: changes, Steps: s}
	var rights []error
	if s.obtain == fromServer && !a.Content.IsZero() {
		plan.Needs = []modules.Content{a.Content}
	}
	if s.obtain != nowhere || s.cleanup {
		if err := modules.InDirectory(files, a.Name); err != nil {
			return modules.Plan{}, err
		}
		rights = append(rights, files.MayReplace(a.Name))
	}
	if s.place {
		rights = append(rights, files.MayCreate(want))
	}
	if s.attributes {
		rights = append(rights, files.MaySetAttributes(a.Name, want))
	}
	if s.place || s.attributes {
		plan.Effects = append(plan.Effects, pathEffect(a.Name, modules.PathState{
			FileInfo: modules.FileInfo{Kind: modules.Regular, Mode: want.Mode, UID: want.UID, GID: want.GID},
			Partial:  true,
		}))
	}
	if s.cleanup {
		plan.Effects = append(plan.Effects, a.gone())
	}
	switch {
	case s.extract:
		effects, err := a.extracting(files)
		if err != nil {
			return modules.Plan{}, err
		}
		plan.Effects = append(plan.Effects, effects...)
	case s.obtain == fromServer: // only a request shows whether the server has it
		plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.BelowEffect, Key: a.Name})
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
func (a *Archive) extracting(files modules.Files) ([]modules.Effect, error) {
	var effects []modules.Effect
	missing := ""
	for dir := a.ExtractParent; ; dir = path.Dir(dir) {
		info, err := modules.Follow(files, dir)
		if err == nil && info.Kind == modules.Directory {
			break
		}
		if err == nil || !modules.NotThere(err) {
			return nil, orRefuse(err, dir)
		}
		if _, err := files.Stat(dir); err == nil {
			return nil, modules.Refuse("%s is a link to nothing; refusing to unpack there", dir)
		}
		missing = dir
		effects = append(effects, pathEffect(dir, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true}))
	}
	// From the top down, as they will be made.
	for i, j := 0, len(effects)-1; i < j; i, j = i+1, j-1 {
		effects[i], effects[j] = effects[j], effects[i]
	}
	right := files.MayReplace(path.Join(a.ExtractParent, "any"))
	if missing != "" {
		right = files.MayReplace(missing)
	}
	if right != nil {
		_, err := modules.PlanIfPermitted(modules.Plan{}, right)
		return nil, err
	}
	effects = append(effects, modules.Effect{Kind: modules.BelowEffect, Key: a.ExtractParent})
	if a.Creates != "" {
		effects = append(effects, pathEffect(a.Creates, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true}))
	}
	return effects, nil
}

func orRefuse(err error, dir string) error {
	if err != nil {
		return err
	}
	return modules.Refuse("%q is not a directory", dir)
}
