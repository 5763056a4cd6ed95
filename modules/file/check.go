package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/merged"
)

// steps are the steps of Apply.
type steps struct {
	do   step
	want modules.Attributes
	top  bool // setBelow also changes the directory itself
}

type step int

const (
	write step = iota + 1
	makeDirectory
	setAttributes
	setBelow
	remove
	removeTree
	replaceLink
)

// found is the current state of a path.
type found struct {
	modules.FileInfo      // Kind Absent if the path does not exist, or is a link to nothing
	link             bool // the path is a symbolic link, and FileInfo describes its target
	unknown          bool // only its Kind is known: an earlier resource will create it
}

// Check implements [modules.Resource].
func (f *File) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := f.check(ctx, h)
	return plan, modules.PermissionRefusal(err)
}

func (f *File) check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	at, err := look(h.Files, f.Name)
	if err != nil {
		return modules.Plan{}, err
	}
	at = f.withForecast(h, at)
	if f.Ensure == absent {
		return f.checkAbsent(ctx, h, at)
	}
	want, err := f.attributes(ctx, h, at.FileInfo)
	if err != nil {
		return modules.Plan{}, err
	}
	if f.Ensure == directory {
		return f.checkDirectory(ctx, h, at, want)
	}
	if warning := merged.Unread(h.Files, f.Name); warning != "" {
		h.Report.Message(modules.LevelWarning, warning)
	}
	return f.checkPresent(ctx, h, at, want)
}

// withForecast notes whether more than the kind of the path is known.
func (f *File) withForecast(h modules.Host, at found) found {
	if predicted, ok := h.Forecast.Lookup(modules.PathEffect, f.Name); ok {
		at.unknown = predicted.(modules.PathState).Partial
	}
	return at
}

// look describes a path, links followed.
func look(files modules.FileReader, name string) (found, error) {
	info, err := files.Stat(name)
	switch {
	case modules.NotThere(err):
		return found{FileInfo: nothing}, nil
	case err != nil:
		return found{}, err
	case info.Kind != modules.Symlink:
		return found{FileInfo: info}, nil
	}
	info, err = modules.Follow(files, name)
	if modules.NotThere(err) {
		info, err = nothing, nil
	}
	return found{FileInfo: info, link: true}, err
}

// attributes are the desired attributes of the path, whose current state is at.
func (f *File) attributes(ctx context.Context, h modules.Host, at modules.FileInfo) (modules.Attributes, error) {
	fresh := fs.FileMode(0o644)
	if f.Ensure == directory {
		fresh = 0o755
	}
	want := modules.NewAttributes(fresh, f.discreet)
	if at.Kind != modules.Absent {
		want = modules.KeptAttributes(h.Forecast, f.Name, at)
	}
	mode := f.Mode
	if f.symbolic() {
		mode, want.Mode = "", changed(want.Mode, f.Mode, f.Ensure == directory)
		want.Exact = strings.ContainsAny(f.Mode, "st")
	}
	want, err := want.Given(ctx, h.Accounts, f.Owner, f.Group, mode)
	if f.Mode != "" && f.Ensure == directory {
		want.Mode = directoryMode(want.Mode)
		if !want.Exact {
			want.Mode |= at.Mode & modules.SpecialBits
		}
	}
	return want, err
}

// withoutSpecialBits is the info of a file without setuid, setgid and sticky: a file with new content or a new owner
// has these bits only if the mode sets them.
func withoutSpecialBits(at modules.FileInfo) modules.FileInfo {
	at.Mode &^= modules.SpecialBits
	return at
}

// nothing is the info that a new file or directory replaces.
var nothing = modules.FileInfo{Kind: modules.Absent}

func (f *File) checkAbsent(ctx context.Context, h modules.Host, at found) (modules.Plan, error) {
	plan := modules.Plan{
		Action:  "removed the file",
		Changes: []modules.Change{{Property: "ensure", Have: at.ensure(), Want: absent}},
		Effects: []modules.Effect{effect(f.Name, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}})},
		Steps:   steps{do: remove},
	}
	switch {
	case at.link:
		return modules.PlanIfPermitted(plan, h.Files.MayReplace(f.Name))
	case at.Kind == modules.Absent:
		return modules.Plan{}, nil
	case at.Kind != modules.Directory:
		return modules.PlanIfPermitted(plan, h.Files.MayReplace(f.Name))
	}
	names, err := h.Files.List(f.Name)
	switch {
	case err != nil:
		return modules.Plan{}, err
	case len(names) == 0:
		plan.Action = "removed the directory"
		return modules.PlanIfPermitted(plan, h.Files.MayReplace(f.Name))
	case f.Force:
		plan.Action, plan.Steps = "recursively removed the directory", steps{do: removeTree}
		return modules.PlanIfPermitted(plan, modules.MayRemoveTree(ctx, h.Files, f.Name))
	case f.undoes:
		return modules.Plan{}, modules.Refuse("cannot remove %s: directory is not empty; empty the directory, then the next complete run removes it", f.Name)
	}
	return modules.Plan{}, modules.Refuse("cannot remove %s: directory is not empty, set 'force: true' to remove non-empty directories", f.Name)
}

func (f *File) checkDirectory(ctx context.Context, h modules.Host, at found, want modules.Attributes) (modules.Plan, error) {
	switch {
	case at.Kind == modules.Directory && at.link && f.Recurse:
		return modules.Plan{}, modules.Refuse("%s is a symlink; recurse is for the directory that it leads to", f.Name)
	case at.Kind == modules.Directory && at.link:
		return f.replaceLink(ctx, h, at, want)
	case at.Kind == modules.Directory:
		plan, err := f.compareAttributes(ctx, h, at, want)
		if err == nil && f.Recurse {
			plan, err = f.checkBelow(ctx, h, plan)
		}
		return plan, err
	case at.link || at.Kind != modules.Absent:
		return modules.Plan{}, modules.Refuse("%s is %s; refusing to make a directory of it", f.Name, described(at))
	}
	parents, err := f.missingParents(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	dirs := append(parents, f.Name)
	above, err := look(h.Files, filepath.Dir(dirs[0]))
	if err != nil {
		return modules.Plan{}, err
	}
	if !want.Exact {
		want.Mode |= above.Mode & fs.ModeSetgid // as mkdir(2) hands it on
	}
	plan := modules.Plan{
		Action:  "created directory",
		Changes: []modules.Change{{Property: "ensure", Have: absent, Want: directory}},
		Steps:   steps{do: makeDirectory, want: want},
	}
	for _, dir := range dirs {
		plan.Effects = append(plan.Effects, effect(dir, modules.PathState{FileInfo: made(modules.Directory, want)}))
	}
	const ownerMayEnter = 0o100
	if len(parents) > 0 && want.Mode&ownerMayEnter == 0 { // otherwise only root could check the result
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return modules.PlanIfPermitted(plan, h.Files.MayReplace(dirs[0]), h.Files.MayCreate(want))
}

// replaceLink compares the directory that a link leads to. If it differs, a directory of its own replaces the link, as
// in CCM: the target may belong to others. If another user may have created the link, it is refused.
func (f *File) replaceLink(ctx context.Context, h modules.Host, at found, want modules.Attributes) (modules.Plan, error) {
	if len(f.differences(ctx, h.Accounts, at, want)) == 0 {
		return modules.Plan{}, nil
	}
	want, err := f.attributes(ctx, h, nothing)
	if err != nil {
		return modules.Plan{}, err
	}
	dir, err := modules.Follow(h.Files, filepath.Dir(f.Name))
	if err != nil {
		return modules.Plan{}, err
	}
	if modules.OthersWrite(dir, os.Geteuid()) {
		return modules.Plan{}, modules.Refuse("%s is a symlink; refusing to set attributes through it", f.Name)
	}
	changes := []modules.Change{{Property: "ensure", Have: "symlink", Want: directory}}
	return modules.PlanIfPermitted(modules.Plan{
		Action:  "replaced the link by a directory",
		Changes: append(changes, f.differences(ctx, h.Accounts, at, want)...),
		Effects: []modules.Effect{effect(f.Name, modules.PathState{FileInfo: made(modules.Directory, want)})},
		Steps:   steps{do: replaceLink, want: want},
	}, h.Files.MayReplace(f.Name), h.Files.MayCreate(want))
}

// missingParents lists the directories that have to be made first, topmost
// first.
func (f *File) missingParents(files modules.FileReader) ([]string, error) {
	var parents []string
	for dir := filepath.Dir(f.Name); ; dir = filepath.Dir(dir) {
		at, err := look(files, dir)
		switch {
		case err != nil:
			return nil, err
		case at.Kind == modules.Directory:
			return parents, nil
		case at.link || at.Kind != modules.Absent:
			return nil, modules.Refuse("%s is %s; refusing to make a directory of it", dir, described(at))
		}
		parents = append([]string{dir}, parents...)
	}
}

func (f *File) checkPresent(ctx context.Context, h modules.Host, at found, want modules.Attributes) (modules.Plan, error) {
	switch at.Kind {
	case modules.Absent:
		return f.create(h, at, want)
	case modules.Directory:
		return modules.Plan{}, modules.Refuse("%s exists as a directory; cannot manage it as a file", f.Name)
	case modules.Special:
		if f.hasContent() {
			return modules.Plan{}, modules.Refuse("%s is a device, socket or pipe; refusing to replace it by a file", f.Name)
		}
	}
	if !f.hasContent() {
		return f.compareAttributes(ctx, h, at, want)
	}
	return f.compareContent(ctx, h, at, want)
}

func (f *File) create(h modules.Host, at found, want modules.Attributes) (modules.Plan, error) {
	if err := modules.InDirectory(h.Files, f.Name); err != nil {
		return modules.Plan{}, err
	}
	if !f.hasContent() {
		plan := f.write("created an empty file with requested attributes", modules.TextContent(""), at, want)
		plan.Changes = []modules.Change{{Property: "ensure", Have: at.ensure(), Want: present}}
		return f.mayWrite(h.Files, plan, want)
	}
	plan := f.write("created the file", f.Content, at, want)
	plan.Changes = []modules.Change{
		{Property: "ensure", Have: at.ensure(), Want: present},
		{Property: "content", Have: absent, Want: sum(f.digestWanted())},
	}
	return f.mayWrite(h.Files, plan, want)
}

// compareContent compares content and attributes of a file.
func (f *File) compareContent(ctx context.Context, h modules.Host, at found, want modules.Attributes) (modules.Plan, error) {
	have, err := f.digest(h.Files, at)
	if at.link && errors.Is(err, modules.ErrPlanted) {
		have, err = "symlink", nil // it is replaced, whatever its target is
	}
	if err != nil {
		return modules.Plan{}, err
	}
	right := sum(f.digestWanted())
	if have == right && !at.link {
		return f.compareAttributes(ctx, h, at, want)
	}
	if have == right && len(f.differences(ctx, h.Accounts, at, want)) == 0 {
		return modules.Plan{}, nil
	}
	old := withoutSpecialBits(at.FileInfo)
	if at.link { // whose file is another one, and stays
		old = nothing
	}
	if want, err = f.attributes(ctx, h, old); err != nil {
		return modules.Plan{}, err
	}
	changes := f.differences(ctx, h.Accounts, at, want)
	if have != right {
		changes = append([]modules.Change{{Property: "content", Have: have, Want: right}}, changes...)
	}
	plan := f.write("updated the file", f.Content, at, want)
	plan.Changes = changes
	if plan, err = f.mayWrite(h.Files, plan, want); err != nil {
		return plan, err
	}
	return f.mayKeepOld(h.Files, at, plan)
}

// unknown is the value of a property that an earlier resource will decide.
const unknown = "unknown"

// digest is the digest of the current content, in the form that changes show.
func (f *File) digest(files modules.FileReader, at found) (string, error) {
	if at.unknown {
		return unknown, nil
	}
	have, err := files.Digest(f.Name)
	return sum(have), err
}

// compareAttributes compares owner, group and mode of an existing path.
func (f *File) compareAttributes(ctx context.Context, h modules.Host, at found, want modules.Attributes) (modules.Plan, error) {
	if at.Kind != modules.Directory && (want.UID != at.UID || want.GID != at.GID) {
		var err error
		if want, err = f.attributes(ctx, h, withoutSpecialBits(at.FileInfo)); err != nil {
			return modules.Plan{}, err
		}
	}
	changes := f.differences(ctx, h.Accounts, at, want)
	switch {
	case len(changes) == 0:
		return modules.Plan{}, nil
	case at.link:
		return modules.Plan{}, modules.Refuse("%s is a symlink; refusing to set attributes through it", f.Name)
	}
	after := modules.PathState{FileInfo: made(at.Kind, want), Content: f.Content, Partial: f.leavesOpen(at)}
	after.Size, after.Links = at.Size, at.Links
	if f.Content.Promised() {
		after.Content = modules.Content{}
	}
	if predicted, ok := h.Forecast.Lookup(modules.PathEffect, f.Name); ok && after.Content.IsZero() {
		after.Content = predicted.(modules.PathState).Content
	}
	plan := modules.Plan{
		Action:  "updated attributes",
		Changes: changes,
		Effects: []modules.Effect{effect(f.Name, after)},
		Steps:   steps{do: setAttributes, want: want},
	}
	// A file with other names, wherever they are, changes under these as well.
	if at.Links > 1 || f.hides(want) {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return modules.PlanIfPermitted(plan, h.Files.MaySetAttributes(f.Name, want))
}

// write is the plan of putting a file with this content at the path.
func (f *File) write(action string, content modules.Content, at found, want modules.Attributes) modules.Plan {
	after := modules.PathState{FileInfo: made(modules.Regular, want), Content: content, Partial: f.leavesOpen(at)}
	after.Size, after.Links = content.Size(), 1
	plan := modules.Plan{
		Action:  action,
		Effects: []modules.Effect{effect(f.Name, after)},
		Texts:   []modules.TextChange{{Path: f.Name, Want: content}},
		Needs:   []modules.Content{content},
		Steps:   steps{do: write, want: want},
	}
	if content.IsZero() || content.Promised() { // the content comes from a server
		plan.Effects[0].State = modules.PathState{FileInfo: made(modules.Regular, want), Partial: true}
	}
	if content.IsZero() {
		plan.Texts, plan.Needs = nil, nil
	}
	if f.hides(want) {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return plan
}

// leavesOpen reports whether attributes that the resource does not give are unknown.
func (f *File) leavesOpen(at found) bool {
	return at.unknown && (f.Owner == "" || f.Group == "" || f.Mode == "" || f.symbolic())
}

func (f *File) differences(ctx context.Context, accounts modules.Accounts, at found, want modules.Attributes) []modules.Change {
	var changes []modules.Change
	compare := func(property, given string, same bool, have, want string) {
		switch {
		case at.unknown && given != "":
			changes = append(changes, modules.Change{Property: property, Have: unknown, Want: want})
		case !at.unknown && !same:
			changes = append(changes, modules.Change{Property: property, Have: have, Want: want})
		}
	}
	compare("owner", f.Owner, at.UID == want.UID, accounts.UserName(ctx, at.UID), accounts.UserName(ctx, want.UID))
	compare("group", f.Group, at.GID == want.GID, accounts.GroupName(ctx, at.GID), accounts.GroupName(ctx, want.GID))
	mode := modules.FormatMode(want.Mode)
	if at.unknown && f.symbolic() {
		mode = f.Mode
	}
	compare("mode", f.Mode, at.Mode == want.Mode, modules.FormatMode(at.Mode), mode)
	return changes
}

// ensure names the current kind in the words of the property.
func (at found) ensure() string {
	switch {
	case at.link:
		return "symlink"
	case at.Kind == modules.Regular || at.Kind == modules.Special:
		return present
	}
	return string(at.Kind) // "directory" and "absent" are the same words
}

// described describes a conflicting path in a sentence.
func described(at found) string {
	switch {
	case at.link && at.Kind == modules.Absent:
		return "a symlink to nothing"
	case at.Kind == modules.Special:
		return "a device, socket or pipe"
	case at.link:
		return "a symlink to a file"
	}
	return "a file"
}

func made(kind modules.FileKind, a modules.Attributes) modules.FileInfo {
	return modules.FileInfo{Kind: kind, Mode: a.Mode, UID: a.UID, GID: a.GID}
}

func effect(path string, state modules.PathState) modules.Effect {
	return modules.Effect{Kind: modules.PathEffect, Key: path, State: state}
}

func sum(digest string) string { return "sha256:" + digest }
