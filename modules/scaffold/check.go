package scaffold

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// do is an action of Apply at one path.
type do int

// The order of Apply: no file is written before its directory exists, and nothing is removed before the rest has
// succeeded.
const (
	makeDirectory do = iota + 1
	write
	link
	setAttributes
	remove
)

// A step is one change.
type step struct {
	do
	name string            // absolute path
	node *modules.TreeNode // nil of a file that is not in the tree, and of the target
	want modules.Attributes
	post []command // commands to run on the file before it is put in place
}

// survey is a Check under way.
type survey struct {
	*Scaffold
	h      modules.Host
	want   modules.Attributes // owner and group
	record record             // results of post commands

	steps   []step
	changes []modules.Change
	effects []modules.Effect
	texts   []modules.TextChange
	needs   []modules.Content
	opaque  bool // a command will run, or a file will change under other names too

	fresh map[string]modules.FileInfo // directories that will be made
}

// Check implements [modules.Resource].
func (s *Scaffold) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	v := &survey{Scaffold: s, h: h, fresh: map[string]modules.FileInfo{}}
	if s.Tree == nil {
		return modules.Plan{}, modules.Refuse("no tree")
	}
	at, err := modules.Follow(h.Files, s.Name)
	switch {
	case modules.NotThere(err):
		at = modules.FileInfo{Kind: modules.Absent}
	case err != nil:
		return modules.Plan{}, err
	}
	if s.Ensure == absent {
		err = v.absent(ctx, at)
	} else {
		err = v.present(ctx, at)
	}
	if err == nil && len(v.steps) > 0 {
		err = v.keepsItsWay()
	}
	if err != nil || len(v.steps) == 0 {
		return modules.Plan{}, err
	}
	return v.plan(), nil
}

// keepsItsWay refuses to replace or remove a link on the way to the target: later steps would use another directory.
func (v *survey) keepsItsWay() error {
	at, passed, err := modules.Resolve(v.h.Files, v.Name)
	if err != nil || len(passed) == 0 { // the target does not exist yet, or has no link
		return nil
	}
	for _, s := range v.steps {
		below, inside := strings.CutPrefix(s.name, v.Name+"/")
		if real := path.Join(at, below); inside && slices.Contains(passed, real) {
			return modules.Refuse("%s is a link that leads to %s itself; refusing to replace it", s.name, v.Name)
		}
	}
	return nil
}

func (v *survey) plan() modules.Plan {
	if v.opaque {
		v.effects = append(v.effects, modules.Anything)
	}
	return modules.Plan{
		Action:  v.action(),
		Changes: v.changes,
		Effects: v.effects,
		Texts:   v.texts,
		Needs:   v.needs,
		Steps:   v.steps,
	}
}

// action counts files, as CCM does, and directories only if there are no files.
func (v *survey) action() string {
	verb, files := "changed", 0
	if v.Ensure == absent {
		verb = "removed"
	}
	for _, s := range v.steps {
		if s.do != makeDirectory && (s.do != remove || s.node == nil || s.node.Kind() != modules.Directory) {
			files++
		}
	}
	switch {
	case files == 1:
		return verb + " 1 scaffold file"
	case files > 1:
		return fmt.Sprintf("%s %d scaffold files", verb, files)
	case len(v.steps) == 1:
		return verb + " 1 scaffold directory"
	}
	return fmt.Sprintf("%s %d scaffold directories", verb, len(v.steps))
}

// present compares every node of the tree with the host.
func (v *survey) present(ctx context.Context, at modules.FileInfo) error {
	if err := v.attributes(ctx); err != nil {
		return err
	}
	if len(v.Post) > 0 {
		v.record = v.readRecord()
	}
	switch at.Kind {
	case modules.Directory:
	case modules.Absent:
		if err := v.target(); err != nil {
			return err
		}
	default:
		return modules.Refuse("%s is %s; refusing to make a directory of it", v.Name, described(at))
	}
	for i := range v.Tree.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.node(ctx, &v.Tree.Nodes[i]); err != nil {
			return err
		}
	}
	if v.Purge && at.Kind == modules.Directory {
		return v.purge(ctx)
	}
	return nil
}

// attributes resolves owner and group.
func (v *survey) attributes(ctx context.Context) (err error) {
	v.want = modules.Attributes{UID: -1, GID: -1}
	if v.Owner != "" {
		if v.want.UID, err = modules.ByName(v.h.Accounts).UserID(ctx, v.Owner); err != nil {
			return modules.Refuse("owner: %w", err)
		}
	}
	if v.Group != "" {
		if v.want.GID, err = modules.ByName(v.h.Accounts).GroupID(ctx, v.Group); err != nil {
			return modules.Refuse("group: %w", err)
		}
	}
	return nil
}

// target plans the target directory and its parents, which get the mode of the
// source.
func (v *survey) target() error {
	if at, err := v.h.Files.Stat(v.Name); err == nil && at.Kind == modules.Symlink {
		return modules.Refuse("%s is a symlink to nothing; refusing to make a directory of it", v.Name)
	}
	var dirs []string
	for dir := v.Name; ; dir = path.Dir(dir) {
		at, err := modules.Follow(v.h.Files, dir)
		if err == nil && at.Kind == modules.Directory {
			v.fresh[dir] = at
			break
		}
		switch {
		case err == nil:
			return modules.Refuse("mkdir %s: %q is not a directory", v.Name, dir)
		case !modules.NotThere(err):
			return err
		}
		if at, err := v.h.Files.Stat(dir); err == nil {
			return modules.Refuse("mkdir %s: %q is %s", v.Name, dir, described(at))
		}
		dirs = append(dirs, dir)
	}
	top := dirs[len(dirs)-1]
	want := v.wanted(v.Tree.Mode)
	if err := v.allowed(v.h.Files.MayReplace(top), v.h.Files.MayCreate(want)); err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		v.willBe(dirs[i], v.made(dirs[i], modules.Directory, want), modules.Content{})
	}
	delete(v.fresh, path.Dir(top))
	v.steps = append(v.steps, step{do: makeDirectory, name: v.Name, want: want})
	v.change("ensure", absent, present)
	return nil
}

func (v *survey) wanted(mode fs.FileMode) modules.Attributes {
	want := v.want
	want.Mode = mode
	return want
}

// made is the info of a new path.
func (v *survey) made(name string, kind modules.FileKind, a modules.Attributes) modules.FileInfo {
	info := modules.FileInfo{Kind: kind, Mode: a.Mode, UID: a.UID, GID: a.GID}
	if a.UID < 0 {
		info.UID = os.Geteuid()
	}
	parent, known := v.fresh[path.Dir(name)]
	if !known {
		// An error has been reported before.
		parent, _ = modules.Follow(v.h.Files, path.Dir(name))
	}
	// New entries inherit the group in a directory with the setgid bit, and on BSDs in every one.
	inherits := parent.Mode&fs.ModeSetgid != 0
	if inherits && kind == modules.Directory {
		info.Mode |= fs.ModeSetgid
	}
	switch {
	case a.GID >= 0:
	case inherits || runtime.GOOS != "linux":
		info.GID = parent.GID
	default:
		info.GID = os.Getegid()
	}
	return info
}

// willBe records the predicted state of a path.
func (v *survey) willBe(name string, info modules.FileInfo, content modules.Content) {
	if info.Kind == modules.Directory {
		v.fresh[name] = info
	}
	v.effects = append(v.effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: modules.PathState{FileInfo: info, Content: content}})
}

func (v *survey) change(property, have, want string) {
	v.changes = append(v.changes, modules.Change{Property: property, Have: have, Want: want})
}

func (v *survey) allowed(rights ...error) error {
	_, err := modules.PlanIfPermitted(modules.Plan{}, rights...)
	return err
}

// look returns the info of a path below the target. A directory that will be made has no entries.
func (v *survey) look(name string) (modules.FileInfo, error) {
	if _, fresh := v.fresh[path.Dir(name)]; fresh && len(name) < longestPath {
		return modules.FileInfo{Kind: modules.Absent}, nil
	}
	at, err := v.h.Files.Stat(name)
	if modules.NotThere(err) {
		return modules.FileInfo{Kind: modules.Absent}, nil
	}
	return at, modules.PermissionRefusal(err)
}

// longestPath is from how many bytes on the kernel may refuse a path: PATH_MAX of
// the BSDs, which is the smallest.
const longestPath = 1024

// node compares one path of the tree.
func (v *survey) node(ctx context.Context, n *modules.TreeNode) error {
	name := path.Join(v.Name, n.Path)
	at, err := v.look(name)
	if err != nil {
		return err
	}
	switch n.Kind() {
	case modules.Directory:
		return v.directory(n, name, at)
	case modules.Symlink:
		return v.link(n, name, at)
	}
	return v.file(ctx, n, name, at)
}

// directory makes a directory. An existing one keeps its owner and mode.
func (v *survey) directory(n *modules.TreeNode, name string, at modules.FileInfo) error {
	switch at.Kind {
	case modules.Directory:
		return nil
	case modules.Symlink:
		return modules.Refuse("the path %s is a symlink, and ccm-push does not write the files of a directory through a symlink", name)
	case modules.Absent:
	default:
		return modules.Refuse("%s is %s; refusing to make a directory of it", name, described(at))
	}
	want := v.wanted(n.Mode)
	if err := v.allowed(v.mayAdd(name), v.h.Files.MayCreate(want)); err != nil {
		return err
	}
	v.willBe(name, v.made(name, modules.Directory, want), modules.Content{})
	v.steps = append(v.steps, step{do: makeDirectory, name: name, node: n, want: want})
	v.change(n.Path, absent, string(modules.Directory))
	return nil
}

// mayAdd returns an error if a path may not be made or replaced. In a directory that the resource makes, it may.
func (v *survey) mayAdd(name string) error {
	if _, fresh := v.fresh[path.Dir(name)]; fresh {
		return nil
	}
	return v.h.Files.MayReplace(name)
}

func (v *survey) link(n *modules.TreeNode, name string, at modules.FileInfo) error {
	switch {
	case at.Kind == modules.Symlink && at.Target == n.Target:
		return nil
	case at.Kind == modules.Directory || at.Kind == modules.Special:
		return modules.Refuse("%s is %s; refusing to replace it by a symlink", name, described(at))
	}
	if err := v.allowed(v.mayAdd(name)); err != nil {
		return err
	}
	v.willBe(name, modules.FileInfo{Kind: modules.Symlink, Target: n.Target, UID: os.Geteuid()}, modules.Content{})
	v.steps = append(v.steps, step{do: link, name: name, node: n})
	v.change(n.Path, seen(at), "link to "+n.Target)
	return nil
}

// seen describes the current state of a path in the words of a change.
func seen(at modules.FileInfo) string {
	if at.Kind == modules.Symlink {
		return "link to " + at.Target
	}
	return string(at.Kind)
}

// file compares content and attributes of a file.
func (v *survey) file(ctx context.Context, n *modules.TreeNode, name string, at modules.FileInfo) error {
	switch at.Kind {
	case modules.Directory, modules.Special:
		return modules.Refuse("%s is %s; refusing to replace it by a file", name, described(at))
	}
	post := v.commandsFor(n)
	want, digest := v.wanted(n.Mode), n.Content.SHA256()
	made, known := v.record.of(n, post)
	if known {
		want.Mode, digest = made.Mode, made.SHA256
	}
	have, become := seen(at), "sha256:"+digest
	if !known {
		become = "the output of post"
	}
	if at.Kind == modules.Regular {
		sum, err := v.h.Files.Digest(name)
		if err != nil {
			return modules.PermissionRefusal(err)
		}
		if known && sum == digest {
			return v.compareAttributes(ctx, n, name, at, want)
		}
		have = "sha256:" + sum
	}
	if err := v.allowed(v.mayAdd(name), v.h.Files.MayCreate(v.given(want, at))); err != nil {
		return err
	}
	after := v.made(name, modules.Regular, v.given(want, at))
	after.Size, after.Links = n.Content.Size(), 1
	state := modules.PathState{FileInfo: after, Content: n.Content}
	if len(post) > 0 { // the result of post commands is unknown
		if err := v.mayWork(); err != nil {
			return err
		}
		v.opaque, state = true, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true}
	}
	v.effects = append(v.effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: state})
	v.steps = append(v.steps, step{do: write, name: name, node: n, want: v.given(want, at), post: post})
	v.needs = append(v.needs, n.Content)
	v.change(n.Path, have, become)
	if at.Kind != modules.Symlink { // a link has no text of its own
		v.text(modules.TextChange{Path: name, Want: n.Content})
	}
	return nil
}

// given returns the attributes of a file to write: an existing file keeps its owner and group if want sets none.
func (v *survey) given(want modules.Attributes, at modules.FileInfo) modules.Attributes {
	if at.Kind != modules.Regular {
		return want
	}
	if want.UID < 0 {
		want.UID = at.UID
	}
	if want.GID < 0 {
		want.GID = at.GID
	}
	return want
}

func (v *survey) text(t modules.TextChange) {
	if len(v.texts) < modules.MaxParts { // diffs are bounded more tightly still
		v.texts = append(v.texts, t)
	}
}

func (v *survey) compareAttributes(ctx context.Context, n *modules.TreeNode, name string, at modules.FileInfo, want modules.Attributes) error {
	before := len(v.changes)
	if want.UID >= 0 && at.UID != want.UID {
		v.change(n.Path+" owner", v.h.Accounts.UserName(ctx, at.UID), v.h.Accounts.UserName(ctx, want.UID))
	}
	if want.GID >= 0 && at.GID != want.GID {
		v.change(n.Path+" group", v.h.Accounts.GroupName(ctx, at.GID), v.h.Accounts.GroupName(ctx, want.GID))
	}
	if at.Mode != want.Mode {
		v.change(n.Path+" mode", modules.FormatMode(at.Mode), modules.FormatMode(want.Mode))
	}
	if before == len(v.changes) {
		return nil
	}
	if err := v.allowed(v.h.Files.MaySetAttributes(name, want)); err != nil {
		return err
	}
	want = v.given(want, at)
	after := modules.FileInfo{Kind: modules.Regular, Size: at.Size, Links: at.Links, Mode: want.Mode, UID: want.UID, GID: want.GID}
	state := modules.PathState{FileInfo: after, Content: n.Content}
	if len(v.commandsFor(n)) > 0 {
		state.Content = modules.Content{}
	}
	v.effects = append(v.effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: state})
	v.opaque = v.opaque || at.Links > 1 // it changes under its other names too
	v.steps = append(v.steps, step{do: setAttributes, name: name, node: n, want: want})
	return nil
}

// described names the current kind of a path in a sentence.
func described(at modules.FileInfo) string {
	if at.Kind == modules.Special {
		return "a device, socket or pipe"
	}
	return "a " + string(at.Kind)
}
