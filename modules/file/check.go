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

// A comparison is a path on a host and its desired state.
type comparison struct {
	*File
	h    modules.Host
	at   found
	want modules.Attributes // nothing with ensure: absent
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
	c := f.compare(h, at)
	if f.Ensure == absent {
		return c.checkAbsent(ctx)
	}
	if c.want, err = c.attributes(ctx, at.FileInfo); err != nil {
		return modules.Plan{}, err
	}
	if f.Ensure == directory {
		return c.checkDirectory(ctx)
	}
	h.Warn(func(h modules.Host) string { return merged.Unread(h.Files, f.Name) })
	return c.checkPresent(ctx)
}

// compare begins a comparison. It notes whether more than the kind of the path is known.
func (f *File) compare(h modules.Host, at found) *comparison {
	if predicted, ok := h.Forecast.Lookup(modules.PathEffect, f.Name); ok {
		at.unknown = predicted.(modules.PathState).Partial
	}
	return &comparison{File: f, h: h, at: at}
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
func (c *comparison) attributes(ctx context.Context, at modules.FileInfo) (modules.Attributes, error) {
	fresh := fs.FileMode(0o644)
	if c.Ensure == directory {
		fresh = 0o755
	}
	want := modules.NewAttributes(fresh, c.discreet)
	if at.Kind != modules.Absent {
		want = modules.KeptAttributes(c.h.Forecast, c.Name, at)
	}
	mode := c.Mode
	if symbolic(c.Mode) {
		mode, want.Mode = "", changed(want.Mode, c.Mode, c.Ensure == directory)
		want.Exact = strings.ContainsAny(c.Mode, "st")
	}
	want, err := want.Given(ctx, c.h.Accounts, c.Owner, c.Group, mode)
	if c.Mode != "" && c.Ensure == directory {
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

func (c *comparison) checkAbsent(ctx context.Context) (modules.Plan, error) {
	plan := modules.Plan{
		Action:  "removed the file",
		Changes: []modules.Change{{Property: "ensure", Have: c.at.ensure(), Want: absent}},
		Effects: []modules.Effect{effect(c.Name, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}})},
		Steps:   steps{do: remove},
	}
	switch {
	case c.at.link:
		return modules.PlanIfPermitted(plan, c.h.Files.MayReplace(c.Name))
	case c.at.Kind == modules.Absent:
		return modules.Plan{}, nil
	case c.at.Kind != modules.Directory:
		return modules.PlanIfPermitted(plan, c.h.Files.MayReplace(c.Name))
	}
	names, err := c.h.Files.List(c.Name)
	switch {
	case err != nil:
		return modules.Plan{}, err
	case len(names) == 0:
		plan.Action = "removed the directory"
		return modules.PlanIfPermitted(plan, c.h.Files.MayReplace(c.Name))
	case c.Force:
		plan.Action, plan.Steps = "recursively removed the directory", steps{do: removeTree}
		return modules.PlanIfPermitted(plan, modules.MayRemoveTree(ctx, c.h.Files, c.Name))
	case c.undoes:
		return modules.Plan{}, modules.Refuse("cannot remove %s: directory is not empty; empty the directory, then the next complete run removes it", c.Name)
	}
	return modules.Plan{}, modules.Refuse("cannot remove %s: directory is not empty, set 'force: true' to remove non-empty directories", c.Name)
}

func (c *comparison) checkDirectory(ctx context.Context) (modules.Plan, error) {
	switch {
	case c.at.Kind == modules.Directory && c.at.link && c.Recurse:
		return modules.Plan{}, modules.Refuse(`%s is a symlink; "recurse" is for the directory that it leads to`, c.Name)
	case c.at.Kind == modules.Directory && c.at.link:
		return c.replaceLink(ctx)
	case c.at.Kind == modules.Directory:
		plan, err := c.compareAttributes(ctx)
		if err == nil && c.Recurse {
			plan, err = c.checkBelow(ctx, plan)
		}
		return plan, err
	case c.at.link || c.at.Kind != modules.Absent:
		return modules.Plan{}, modules.Refuse("%s is %s; refusing to make a directory of it", c.Name, described(c.at))
	}
	parents, err := missingParents(c.h.Files, c.Name)
	if err != nil {
		return modules.Plan{}, err
	}
	dirs := append(parents, c.Name)
	above, err := look(c.h.Files, filepath.Dir(dirs[0]))
	if err != nil {
		return modules.Plan{}, err
	}
	if !c.want.Exact {
		c.want.Mode |= above.Mode & fs.ModeSetgid // as mkdir(2) hands it on
	}
	plan := modules.Plan{
		Action:  "created directory",
		Changes: []modules.Change{{Property: "ensure", Have: absent, Want: directory}},
		Steps:   steps{do: makeDirectory, want: c.want},
	}
	for _, dir := range dirs {
		plan.Effects = append(plan.Effects, effect(dir, modules.PathState{FileInfo: made(modules.Directory, c.want)}))
	}
	const ownerMayEnter = 0o100
	if len(parents) > 0 && c.want.Mode&ownerMayEnter == 0 { // otherwise only root could check the result
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return modules.PlanIfPermitted(plan, c.h.Files.MayReplace(dirs[0]), c.h.Files.MayCreate(c.want))
}

// replaceLink compares the directory that a link leads to. If it differs, a directory of its own replaces the link, as
// in CCM: the target may belong to others. If another user may have created the link, it is refused.
func (c *comparison) replaceLink(ctx context.Context) (_ modules.Plan, err error) {
	if len(c.differences(ctx)) == 0 {
		return modules.Plan{}, nil
	}
	if c.want, err = c.attributes(ctx, nothing); err != nil {
		return modules.Plan{}, err
	}
	dir, err := modules.Follow(c.h.Files, filepath.Dir(c.Name))
	if err != nil {
		return modules.Plan{}, err
	}
	if modules.OthersWrite(dir, os.Geteuid()) {
		return modules.Plan{}, modules.Refuse("%s is a symlink; refusing to set attributes through it", c.Name)
	}
	changes := []modules.Change{{Property: "ensure", Have: "symlink", Want: directory}}
	return modules.PlanIfPermitted(modules.Plan{
		Action:  "replaced the link by a directory",
		Changes: append(changes, c.differences(ctx)...),
		Effects: []modules.Effect{effect(c.Name, modules.PathState{FileInfo: made(modules.Directory, c.want)})},
		Steps:   steps{do: replaceLink, want: c.want},
	}, c.h.Files.MayReplace(c.Name), c.h.Files.MayCreate(c.want))
}

// missingParents lists the directories that have to be made before a path, topmost first.
func missingParents(files modules.FileReader, name string) ([]string, error) {
	var parents []string
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
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

func (c *comparison) checkPresent(ctx context.Context) (modules.Plan, error) {
	switch c.at.Kind {
	case modules.Absent:
		return c.create(ctx)
	case modules.Directory:
		return modules.Plan{}, modules.Refuse("%s exists as a directory; cannot manage it as a file", c.Name)
	case modules.Special:
		if c.hasContent() {
			return modules.Plan{}, modules.Refuse("%s is a device, socket or pipe; refusing to replace it by a file", c.Name)
		}
	}
	if !c.hasContent() {
		return c.compareAttributes(ctx)
	}
	return c.compareContent(ctx)
}

func (c *comparison) create(ctx context.Context) (modules.Plan, error) {
	if err := modules.InDirectory(c.h.Files, c.Name); err != nil {
		return modules.Plan{}, err
	}
	if !c.hasContent() {
		plan := c.write("created an empty file with requested attributes", modules.TextContent(""))
		plan.Changes = []modules.Change{{Property: "ensure", Have: c.at.ensure(), Want: present}}
		return c.mayWrite(ctx, plan)
	}
	plan := c.write("created the file", c.Content)
	plan.Changes = []modules.Change{
		{Property: "ensure", Have: c.at.ensure(), Want: present},
		{Property: "content", Have: absent, Want: sum(c.digestWanted())},
	}
	return c.mayWrite(ctx, plan)
}

// compareContent compares content and attributes of a file.
func (c *comparison) compareContent(ctx context.Context) (modules.Plan, error) {
	have, err := c.digest()
	if c.at.link && errors.Is(err, modules.ErrPlanted) {
		have, err = "symlink", nil // it is replaced, whatever its target is
	}
	if err != nil {
		return modules.Plan{}, err
	}
	right := sum(c.digestWanted())
	if have == right && !c.at.link {
		return c.compareAttributes(ctx)
	}
	if have == right && len(c.differences(ctx)) == 0 {
		return modules.Plan{}, nil
	}
	old := withoutSpecialBits(c.at.FileInfo)
	if c.at.link { // whose file is another one, and stays
		old = nothing
	}
	if c.want, err = c.attributes(ctx, old); err != nil {
		return modules.Plan{}, err
	}
	changes := c.differences(ctx)
	if have != right {
		changes = append([]modules.Change{{Property: "content", Have: have, Want: right}}, changes...)
	}
	plan := c.write("updated the file", c.Content)
	plan.Changes = changes
	if plan, err = c.mayWrite(ctx, plan); err != nil {
		return plan, err
	}
	return c.mayKeepOld(plan)
}

// unknown is the value of a property that an earlier resource will decide.
const unknown = "unknown"

// digest is the digest of the current content, in the form that changes show.
func (c *comparison) digest() (string, error) {
	if c.at.unknown {
		return unknown, nil
	}
	have, err := c.h.Files.Digest(c.Name)
	return sum(have), err
}

// compareAttributes compares owner, group and mode of an existing path.
func (c *comparison) compareAttributes(ctx context.Context) (modules.Plan, error) {
	if c.at.Kind != modules.Directory && (c.want.UID != c.at.UID || c.want.GID != c.at.GID) {
		var err error
		if c.want, err = c.attributes(ctx, withoutSpecialBits(c.at.FileInfo)); err != nil {
			return modules.Plan{}, err
		}
	}
	changes := c.differences(ctx)
	switch {
	case len(changes) == 0:
		return modules.Plan{}, nil
	case c.at.link:
		return modules.Plan{}, modules.Refuse("%s is a symlink; refusing to set attributes through it", c.Name)
	}
	after := modules.PathState{FileInfo: made(c.at.Kind, c.want), Content: c.Content, Partial: c.leavesOpen()}
	after.Size, after.Links = c.at.Size, c.at.Links
	if c.Content.Promised() {
		after.Content = modules.Content{}
	}
	if predicted, ok := c.h.Forecast.Lookup(modules.PathEffect, c.Name); ok && after.Content.IsZero() {
		after.Content = predicted.(modules.PathState).Content
	}
	plan := modules.Plan{
		Action:  "updated attributes",
		Changes: changes,
		Effects: []modules.Effect{effect(c.Name, after)},
		Steps:   steps{do: setAttributes, want: c.want},
	}
	// A file with other names, wherever they are, changes under these as well.
	if c.at.Links > 1 || c.hides() {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return modules.PlanIfPermitted(plan, c.h.Files.MaySetAttributes(c.Name, c.want))
}

// write is the plan of putting a file with this content at the path.
func (c *comparison) write(action string, content modules.Content) modules.Plan {
	after := modules.PathState{FileInfo: made(modules.Regular, c.want), Content: content, Partial: c.leavesOpen()}
	after.Size, after.Links = content.Size(), 1
	plan := modules.Plan{
		Action:  action,
		Effects: []modules.Effect{effect(c.Name, after)},
		Texts:   []modules.TextChange{{Path: c.Name, Want: content}},
		Needs:   []modules.Content{content},
		Steps:   steps{do: write, want: c.want},
	}
	if content.IsZero() || content.Promised() { // the content comes from a server
		plan.Effects[0].State = modules.PathState{FileInfo: made(modules.Regular, c.want), Partial: true}
	}
	if content.IsZero() {
		plan.Texts, plan.Needs = nil, nil
	}
	if c.hides() {
		plan.Effects = append(plan.Effects, modules.Anything)
	}
	return plan
}

// leavesOpen reports whether attributes that the resource does not give are unknown.
func (c *comparison) leavesOpen() bool {
	return c.at.unknown && (c.Owner == "" || c.Group == "" || c.Mode == "" || symbolic(c.Mode))
}

func (c *comparison) differences(ctx context.Context) []modules.Change {
	at, wanted, accounts := c.at, c.want, c.h.Accounts
	var changes []modules.Change
	compare := func(property, given string, same bool, have, want string) {
		switch {
		case at.unknown && given != "":
			changes = append(changes, modules.Change{Property: property, Have: unknown, Want: want})
		case !at.unknown && !same:
			changes = append(changes, modules.Change{Property: property, Have: have, Want: want})
		}
	}
	compare("owner", c.Owner, at.UID == wanted.UID, accounts.UserName(ctx, at.UID), accounts.UserName(ctx, wanted.UID))
	compare("group", c.Group, at.GID == wanted.GID, accounts.GroupName(ctx, at.GID), accounts.GroupName(ctx, wanted.GID))
	mode := modules.FormatMode(wanted.Mode)
	if at.unknown && symbolic(c.Mode) {
		mode = c.Mode
	}
	compare("mode", c.Mode, at.Mode == wanted.Mode, modules.FormatMode(at.Mode), mode)
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
