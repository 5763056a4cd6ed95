package before

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// A Restore is the resource that restores the former states of paths after another resource has changed them. It
// restores only the changed parts, and only paths that have not changed since.
type Restore struct {
	Before, Left []Node // Left has the states after the change, for the same paths
	Partly       bool   // the last Check has found paths that must not be restored
	// Force restores all differences, also changes by others. Left is not needed then.
	Force bool
	// Rest is the reason why more was not restored; empty means nothing more.
	Rest string

	incomplete []string // paths that the last Check has skipped, if Partly
}

// An IncompleteError names the parts that were not restored; all other parts were.
type IncompleteError []string

func (e IncompleteError) Error() string {
	return "put back in part; left unchanged: " + strings.Join(e, "; ")
}

// Incomplete returns an [IncompleteError] if the last Check has skipped paths.
func (s *Restore) Incomplete() error {
	if !s.Partly {
		return nil
	}
	return IncompleteError(s.incomplete)
}

// Validate implements [modules.Resource].
func (s *Restore) Validate() error {
	if len(s.Before) != len(s.Left) && !s.Force {
		return errors.New("the state after the run is not recorded")
	}
	return nil
}

// Parts in which two nodes can differ.
type aspect uint8

const (
	kind aspect = 1 << iota // also the target of a link
	content
	owner
	group
	mode
	attributes // the extended ones
)

// differs returns the parts in which two nodes differ. Nodes of different kinds differ in all parts.
func (n *Node) differs(other *Node) (a aspect) {
	if n.Kind != other.Kind || n.Target != other.Target {
		a |= kind
	}
	if n.Kind != other.Kind || n.Xattrs != nil && other.Xattrs != nil && !slices.Equal(n.Xattrs, other.Xattrs) {
		a |= attributes
	}
	if n.SHA256 != other.SHA256 || n.Written != other.Written {
		a |= content
	}
	if n.UID != other.UID {
		a |= owner
	}
	if n.GID != other.GID {
		a |= group
	}
	if n.Mode != other.Mode {
		a |= mode
	}
	return a
}

// A step puts one path back.
type step struct {
	want, now  Node
	differs    aspect // parts of now that must change
	attributes modules.Attributes
}

// A restoring is a Check under way.
type restoring struct {
	*Restore
	h     modules.Host
	steps []step
	left  []string // skipped paths, with reasons
	gone  map[string]bool

	account   accounts.Restored
	inhabited []string // homes of users that the run created, and that remain
}

// work holds the steps of Apply.
type work struct {
	accounts bool
	steps    []step
}

// Check implements [modules.Resource]. It returns an error if all differences have to be skipped.
func (s *Restore) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	c := &restoring{Restore: s, h: h, gone: map[string]bool{}}
	if err := c.accounts(); err != nil {
		return modules.Plan{}, modules.PermissionRefusal(err)
	}
	for _, i := range s.fromBottom() {
		if err := ctx.Err(); err != nil {
			return modules.Plan{}, err
		}
		if s.Before[i].Account != nil || c.isInhabited(s.Before[i].Path) {
			continue
		}
		left, err := c.asLeft(i)
		if err != nil {
			return modules.Plan{}, modules.PermissionRefusal(err)
		}
		why, err := c.node(&s.Before[i], left)
		if err != nil {
			return modules.Plan{}, modules.PermissionRefusal(err)
		}
		if why != "" {
			c.left = append(c.left, s.Before[i].Path+": "+why)
		}
	}
	if err := c.homes(); err != nil {
		return modules.Plan{}, modules.PermissionRefusal(err)
	}
	if s.Rest != "" {
		c.left = append(c.left, s.Rest)
	}
	s.incomplete = c.left
	if s.Partly = len(c.left) > 0; s.Partly && len(c.steps)+len(c.account.Texts) == 0 {
		return modules.Plan{}, modules.Refuse("left unchanged: %s", strings.Join(c.shown(), "; "))
	}
	plan := c.plan(ctx)
	return plan, c.addAccounts(&plan)
}

// asLeft returns the state in which the run left a path.
func (c *restoring) asLeft(i int) (*Node, error) {
	if !c.Force {
		return &c.Left[i], nil
	}
	was := &c.Before[i]
	now, err := lookInto(c.h.Files, was.Path, was.Written != 0)
	return &now, err
}

// fromBottom returns the indexes of the paths, with the contents of a directory before the directory.
func (s *Restore) fromBottom() []int {
	all := make([]int, len(s.Before))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int { return strings.Compare(s.Before[b].Path, s.Before[a].Path) })
	return all
}

// maxShown bounds the list of skipped paths.
const maxShown = 20

func (c *restoring) shown() []string {
	if len(c.left) <= maxShown {
		return c.left
	}
	return append(slices.Clone(c.left[:maxShown]), fmt.Sprintf("and %d more", len(c.left)-maxShown))
}

// node plans the steps for one path, or returns why the path is skipped.
func (c *restoring) node(was, left *Node) (why string, err error) {
	changed := was.differs(left)
	if was.bare() {
		changed &^= content // which the run has not changed
	}
	if changed == 0 {
		return "", nil
	}
	now, err := lookInto(c.h.Files, was.Path, was.Written != 0)
	if err != nil {
		return "", err
	}
	differs := was.differs(&now) & changed
	switch {
	case differs == 0:
		return "", nil
	case left.differs(&now)&differs != 0 && !cut(was, left, &now):
		return "it has changed since the run: " + different(left, &now), nil
	case was.Lost != "" && changed&(kind|content) != 0:
		return was.Lost, nil
	case was.runsAsOwner() && (left.differs(&now)&content != 0 || left.Written != 0):
		as := "as its owner or group: it had mode " + modules.FormatMode(was.Mode)
		if was.Mode&modules.SpecialBits == 0 {
			as = "with the capabilities that it had"
		}
		return "it may have been written since, and would run " + as, nil
	}
	if place, was := Place(c.h.Files, was.Path), orPath(was); place != was {
		return fmt.Sprintf("during the run its path was %s, and now the path leads to %s", was, place), nil
	}
	if differs&(owner|group|mode|attributes) != 0 && left.differs(&now)&content != 0 && c.exchanged(&now) {
		return "it has changed since the run, and another one may be in its place: " + different(left, &now), nil
	}
	if left.Kind == modules.Directory && now.Kind == modules.Directory && differs&kind != 0 {
		if in, err := c.within(was.Path); err != nil || in != "" {
			return in + " is in it", err
		}
	}
	c.gone[was.Path] = was.Kind == modules.Absent
	c.steps = append(c.steps, c.step(*was, now, differs))
	return "", nil
}

// Lost names the paths of nodes that were changed and cannot be put back, and why.
func Lost(was, left []Node) []string {
	c := &restoring{}
	for i := range was {
		if changed := was[i].differs(&left[i]); was[i].Lost != "" && changed&(kind|content) != 0 && (!was[i].bare() || changed&kind != 0) {
			c.left = append(c.left, was[i].Path+": "+was[i].Lost)
		}
	}
	return c.shown()
}

// exchanged reports whether a file may be one from elsewhere, which others have given this name:
// they must not get it for theirs.
func (c *restoring) exchanged(now *Node) bool {
	dir, err := c.h.Files.Stat(path.Dir(orPath(now)))
	own := dir.UID == now.UID && dir.Mode&0o022 == 0
	return err != nil || modules.OthersWrite(dir, os.Geteuid()) && !own
}

// cut reports whether a path may be the result of an undo that was killed between two steps: a directory cannot be
// replaced by another kind, nor replace it, in one step.
func cut(was, left, now *Node) bool {
	return now.Kind == modules.Absent && (was.Kind == modules.Directory) != (left.Kind == modules.Directory) &&
		was.Kind != modules.Absent && left.Kind != modules.Absent
}

func orPath(n *Node) string {
	if n.Place != "" {
		return n.Place
	}
	return n.Path
}

// step returns the step for a path. Parts that the run has not changed stay.
func (c *restoring) step(want, now Node, differs aspect) step {
	special := want.Mode & modules.SpecialBits
	if differs&kind == 0 {
		if differs&owner == 0 {
			want.UID = now.UID
		}
		if differs&group == 0 {
			want.GID = now.GID
		}
		if differs&mode == 0 {
			want.Mode = now.Mode
		}
		if differs&attributes == 0 {
			want.Xattrs = now.Xattrs
		}
		if differs&content == 0 {
			want.SHA256, want.Size, want.Written = now.SHA256, now.Size, now.Written
		}
	}
	a := modules.Attributes{Mode: want.Mode, UID: want.UID, GID: want.GID, Exact: true}
	if want.Kind == modules.Regular {
		a.Mode &^= modules.SpecialBits &^ special // such as one that its owner of that time has set since
	}
	if differs&attributes != 0 {
		a.Xattrs = want.Xattrs
	}
	return step{want, now, differs, a}
}

// within names something in a directory that will still be there.
func (c *restoring) within(dir string) (string, error) {
	names, err := c.h.Files.List(dir)
	for _, name := range names {
		if !c.gone[path.Join(dir, name)] {
			return name, err
		}
	}
	return "", err
}

// different describes the difference between a node and the state that the run left.
func different(left, now *Node) string {
	switch a := left.differs(now); {
	case left.Kind != now.Kind:
		return fmt.Sprintf("ensure is %s, and was %s", now.Kind, left.Kind)
	case left.Target != now.Target:
		return fmt.Sprintf("it leads to %q, and led to %q", now.Target, left.Target)
	case a&content != 0:
		return "it has been written since"
	case a&mode != 0:
		return fmt.Sprintf("its mode is %s, and was %s", modules.FormatMode(now.Mode), modules.FormatMode(left.Mode))
	case a&attributes != 0:
		return "its extended attributes have been changed since"
	}
	return fmt.Sprintf("it belongs to %d:%d, and belonged to %d:%d", now.UID, now.GID, left.UID, left.GID)
}

func (c *restoring) plan(ctx context.Context) modules.Plan {
	p := modules.Plan{Steps: work{len(c.account.Texts) > 0, c.steps}}
	removed := 0
	for i := range c.steps {
		s := &c.steps[i]
		p.Changes = append(p.Changes, c.changes(ctx, s)...)
		state := modules.PathState{FileInfo: s.want.info(), Xattrs: s.want.Xattrs}
		if s.want.Kind == modules.Regular && s.want.SHA256 != "" {
			state.Content = s.want.content()
		}
		p.Effects = append(p.Effects, modules.Effect{Kind: modules.PathEffect, Key: s.want.Path, State: state})
		if s.want.Kind == modules.Absent {
			removed++
		}
		if s.differs&(kind|content) != 0 && len(p.Texts) < modules.MaxParts {
			if t := s.text(); t.Path != "" {
				p.Texts = append(p.Texts, t)
			}
		}
	}
	switch n := len(c.steps); {
	case len(c.account.Texts) > 0:
		p.Action = "restored the state before the run"
	case n == 0:
	case removed == n:
		p.Action = "removed what the run had made"
	case removed == 0:
		p.Action = "restored the state before the run"
	default:
		p.Action = fmt.Sprintf("restored the state before the run, and removed %d of %d created files and directories", removed, n)
	}
	return p
}

// text returns the change of a text; its path is empty if there is none.
func (s *step) text() (t modules.TextChange) {
	if s.now.Kind == modules.Regular || s.want.Kind == modules.Regular {
		t.Path = s.want.Path
	}
	if s.want.Kind == modules.Regular {
		t.Want = s.want.content()
	}
	return t
}

// changes returns the differences at one path.
func (c *restoring) changes(ctx context.Context, s *step) []modules.Change {
	now, prefix := &s.now, ""
	if len(c.Before) > 1 {
		prefix = s.want.Path + " "
	}
	var all []modules.Change
	add := func(a aspect, property, have, want string) {
		if s.differs&a != 0 && have != want {
			all = append(all, modules.Change{Property: prefix + property, Have: have, Want: want})
		}
	}
	add(kind, "ensure", string(now.Kind), string(s.want.Kind))
	add(kind, "target", now.Target, s.want.Target)
	if s.want.Kind == modules.Absent {
		return all
	}
	add(content, "content", hashText(now.SHA256), hashText(s.want.SHA256))
	add(owner, "owner", c.h.Accounts.UserName(ctx, now.UID), c.h.Accounts.UserName(ctx, s.want.UID))
	add(group, "group", c.h.Accounts.GroupName(ctx, now.GID), c.h.Accounts.GroupName(ctx, s.want.GID))
	add(mode, "mode", modules.FormatMode(now.Mode), modules.FormatMode(s.want.Mode))
	add(attributes, "xattrs", only(now.Xattrs, s.want.Xattrs), only(s.want.Xattrs, now.Xattrs))
	return all
}

// only shows the extended attributes that others are without, and of long ones the hash.
func only(attributes, others []string) string {
	text := "none"
	for _, one := range attributes {
		if slices.Contains(others, one) {
			continue
		}
		if name, value, _ := strings.Cut(one, "="); len(value) > 2*sha256.Size {
			one = fmt.Sprintf("%s=sha256:%x", name, sha256.Sum256([]byte(value)))
		}
		text += ", " + one
	}
	return strings.TrimPrefix(text, "none, ")
}

func hashText(sum string) string {
	if sum == "" {
		return "none"
	}
	return "sha256:" + sum
}

// Apply implements [modules.Resource]: it first removes obstacles, from the bottom up, then restores everything, from
// the top down. Files and links replace each other in one step.
func (s *Restore) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(work)
	if !ok {
		return errors.New("the plan is not one that restores")
	}
	if do.accounts {
		if err := s.applyAccounts(ctx, h); err != nil {
			return err
		}
	}
	steps := do.steps
	for i := range steps {
		s := &steps[i]
		if s.want.Kind == modules.Absent || s.now.Kind == modules.Directory && s.differs&kind != 0 || s.want.Kind == modules.Directory && s.now.Kind != modules.Directory {
			if err := h.Files.Remove(ctx, s.want.Path, false); err != nil && !modules.NotThere(err) {
				return err
			}
		}
	}
	for i := range slices.Backward(steps) {
		if err := steps[i].restore(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) restore(ctx context.Context, h modules.Host) error {
	switch {
	case s.want.Kind == modules.Absent:
		return nil
	case s.want.Kind == modules.Symlink:
		return h.Files.Symlink(ctx, s.want.Path, s.want.Target)
	case s.want.Kind == modules.Directory && s.differs&kind != 0:
		return h.Files.MakeDir(ctx, s.want.Path, s.attributes)
	case s.differs&(kind|content) != 0:
		from, err := h.Contents.Open(ctx, s.want.content())
		if err != nil {
			return fmt.Errorf("its former content is no longer stored: %w", err)
		}
		defer from.Close()
		return h.Files.Write(ctx, s.want.Path, from, s.attributes)
	}
	return h.Files.SetAttributes(ctx, s.want.Path, s.attributes)
}

// Verify implements [modules.Verifier]. If a part was not restored, the error is an [IncompleteError].
func (s *Restore) Verify(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, _ := p.Steps.(work)
	if do.accounts {
		if err := s.verifyAccounts(h.Files); err != nil {
			return err
		}
	}
	for i := range do.steps {
		want := &do.steps[i].want
		now, err := lookInto(h.Files, want.Path, want.Written != 0)
		if err != nil {
			return err
		}
		if want.differs(&now)&do.steps[i].differs != 0 {
			return fmt.Errorf("%s has changed: %s", now.Path, different(want, &now))
		}
	}
	return s.Incomplete()
}
