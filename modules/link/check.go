package link

import (
	"context"
	"errors"
	"os"
	"path"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
)

// step is the action of Apply.
type step int

const (
	store step = iota + 1
	replaceDirectory
	remove
)

// Check implements [modules.Resource].
func (l *Link) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := l.check(h)
	return plan, modules.PermissionRefusal(err)
}

func (l *Link) check(h modules.Host) (modules.Plan, error) {
	at, err := h.Files.Stat(l.Name)
	switch {
	case modules.NotThere(err):
		at = modules.FileInfo{Kind: modules.Absent}
	case err != nil:
		return modules.Plan{}, err
	}
	if l.Ensure == absent {
		return l.checkAbsent(h.Files, at)
	}
	return l.checkPresent(h.Files, at)
}

func (l *Link) checkAbsent(files modules.Files, at modules.FileInfo) (modules.Plan, error) {
	switch at.Kind {
	case modules.Absent:
		return modules.Plan{}, nil
	case modules.Symlink:
		plan := modules.Plan{
			Action:  "removed the link",
			Changes: []modules.Change{{Property: "ensure", Have: present, Want: absent}},
			Effects: l.will(modules.FileInfo{Kind: modules.Absent}),
			Steps:   remove,
		}
		return modules.PlanIfPermitted(plan, files.MayReplace(l.Name))
	}
	return modules.Plan{}, modules.Refuse("the path %s is %s, not a link, so a link resource does not remove it (a file resource with ensure: absent does)", l.Name, described(at))
}

func (l *Link) checkPresent(files modules.Files, at modules.FileInfo) (modules.Plan, error) {
	switch at.Kind {
	case modules.Absent:
		if err := modules.InDirectory(files, l.Name); err != nil {
			return modules.Plan{}, err
		}
		return l.plan(files, "created the link", at)
	case modules.Symlink:
		if at.Target == l.Target {
			return modules.Plan{}, nil
		}
		return l.plan(files, "updated the link", at)
	case modules.Special:
		return modules.Plan{}, modules.Refuse("%s is %s; refusing to replace it by a link", l.Name, described(at))
	}
	if !l.Force {
		return modules.Plan{}, modules.Refuse("%s is %s, set 'force: true' to replace it by a link", l.Name, described(at))
	}
	return l.replace(files, at)
}

// replace is the plan to put the link in place of a file or an empty directory.
func (l *Link) replace(files modules.Files, at modules.FileInfo) (modules.Plan, error) {
	if at.Kind != modules.Directory {
		return l.plan(files, "replaced the file by a link", at)
	}
	names, err := files.List(l.Name)
	if err != nil {
		return modules.Plan{}, err
	}
	if len(names) > 0 {
		return modules.Plan{}, modules.Refuse("cannot replace %s by a link: the directory is not empty", l.Name)
	}
	plan, err := l.plan(files, "replaced the directory by a link", at)
	if err == nil {
		plan.Steps = replaceDirectory
	}
	return plan, err
}

// plan is the plan to store the target in place of the current file or link.
func (l *Link) plan(files modules.Files, action string, at modules.FileInfo) (modules.Plan, error) {
	plan := modules.Plan{
		Action:  action,
		Effects: l.will(modules.FileInfo{Kind: modules.Symlink, Target: l.Target, UID: os.Geteuid()}),
		Steps:   store,
	}
	have := at.Target
	if at.Kind != modules.Symlink {
		have = absent
		plan.Changes = []modules.Change{{Property: "ensure", Have: string(at.Kind), Want: present}}
	}
	plan.Changes = append(plan.Changes, modules.Change{Property: "target", Have: have, Want: l.Target})
	return modules.PlanIfPermitted(plan, l.checkWay(files), files.MayReplace(l.Name))
}

func (l *Link) will(info modules.FileInfo) []modules.Effect {
	return []modules.Effect{{Kind: modules.PathEffect, Key: l.Name, State: modules.PathState{FileInfo: info}}}
}

// described names the current kind of a path in a sentence.
func described(at modules.FileInfo) string {
	if at.Kind == modules.Special {
		return "a device, socket or pipe"
	}
	return "a " + string(at.Kind) // "a file", "a directory"
}

// linked is the files as they will be with the link.
type linked struct {
	modules.FileReader
	at, target string
}

// Stat implements [modules.FileReader].
func (l linked) Stat(path string) (modules.FileInfo, error) {
	if path == l.at {
		return modules.FileInfo{Kind: modules.Symlink, Target: l.target}, nil
	}
	return l.FileReader.Stat(path)
}

// checkWay refuses a link that leads in a circle, and a path that leads through
// the link that it names: with the new target it would lead elsewhere.
func (l *Link) checkWay(files modules.FileReader) error {
	dir, _, err := modules.Resolve(files, path.Dir(l.Name))
	if err != nil {
		return err
	}
	will := linked{files, path.Join(dir, path.Base(l.Name)), l.Target}
	if again, _, err := modules.Resolve(will, path.Dir(l.Name)); err != nil || again != dir {
		return modules.Refuse("the path %s leads through the link that it names; write %s", l.Name, will.at)
	}
	if _, _, err := modules.Resolve(will, l.Name); errors.Is(err, syscall.ELOOP) {
		return modules.Refuse("%s would lead to itself through %q", l.Name, l.Target)
	}
	return nil
}
