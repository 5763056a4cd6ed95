package scaffold

import (
	"context"
	"path"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// maxNames is how many names a purge visits.
const maxNames = 100_000

// purge plans to remove all paths below the target that are not in the tree: files, links, and directories that become
// empty. It does not follow links, or enter mount points.
func (v *survey) purge(ctx context.Context) error {
	p := &purge{survey: v, ctx: ctx, managed: make(map[string]modules.FileKind, len(v.Tree.Nodes)), mounted: v.mountPoints()}
	for i := range v.Tree.Nodes {
		n := &v.Tree.Nodes[i]
		p.managed[n.Path] = n.Kind()
	}
	_, err := p.directory("")
	return err
}

type purge struct {
	*survey
	ctx     context.Context
	managed map[string]modules.FileKind
	mounted map[string]bool // paths below the target
	names   int
}

// mountPoints returns the mount points below the target; the target itself is "".
func (v *survey) mountPoints() map[string]bool {
	mounted := map[string]bool{}
	at, _, err := modules.Resolve(v.h.Files, v.Name)
	if err == nil {
		for _, point := range v.h.Files.MountPoints(at) {
			mounted[point.Below] = true
		}
	}
	return mounted
}

// directory visits the entries of a directory, given by its path below the target, and reports whether nothing is left
// in it.
func (p *purge) directory(name string) (empty bool, err error) {
	if err := p.ctx.Err(); err != nil {
		return false, err
	}
	names, err := p.h.Files.List(path.Join(p.Name, name))
	if err != nil {
		return false, modules.PermissionRefusal(err)
	}
	if p.names += len(names); p.names > maxNames {
		return false, modules.Refuse("there are more than %d names below %s; refusing to purge it", maxNames, p.Name)
	}
	empty = true
	for _, below := range names {
		gone, err := p.entry(path.Join(name, below))
		if err != nil {
			return false, err
		}
		empty = empty && gone
	}
	return empty, nil
}

// entry looks at one path and reports whether it will be gone.
func (p *purge) entry(name string) (gone bool, err error) {
	full := path.Join(p.Name, name)
	kind := p.managed[name]
	if kind != "" && kind != modules.Directory {
		return false, nil
	}
	at, err := p.h.Files.Stat(full)
	if modules.NotThere(err) {
		return true, nil // another process has removed it meanwhile
	}
	if err != nil {
		return false, err
	}
	if p.mounted[name] {
		return false, nil
	}
	if at.Kind == modules.Directory {
		if name == "lost+found" {
			return false, nil
		}
		empty, err := p.directory(name)
		if err != nil || !empty || kind == modules.Directory {
			return false, err
		}
	}
	var node *modules.TreeNode // set only for a directory, which is not counted
	if at.Kind == modules.Directory {
		node = &modules.TreeNode{Path: name}
	}
	return true, p.drop(full, name, at, node)
}

// drop plans to remove one path; node is the tree's node of that path, or nil.
func (v *survey) drop(full, name string, at modules.FileInfo, node *modules.TreeNode) error {
	if err := v.allowed(v.h.Files.MayReplace(full)); err != nil {
		return err
	}
	v.steps = append(v.steps, step{do: remove, name: full, node: node})
	v.effects = append(v.effects, modules.Effect{Kind: modules.PathEffect, Key: full, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}})
	v.change(name, seen(at), absent)
	if at.Kind == modules.Regular {
		v.text(modules.TextChange{Path: full})
	}
	return nil
}

// absent plans to remove the existing files of the tree, the directories of the tree that become empty, and the target
// if it becomes empty.
func (v *survey) absent(ctx context.Context, at modules.FileInfo) error {
	if at.Kind != modules.Directory {
		return nil
	}
	onHost := map[string]bool{".": true} // directories that are ones on the host too
	gone := map[string]int{}             // how many names of a directory will be gone
	var dirs []string
	for i := range v.Tree.Nodes {
		n := &v.Tree.Nodes[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if !onHost[path.Dir(n.Path)] { // paths below a link do not belong to the target
			continue
		}
		full := path.Join(v.Name, n.Path)
		at, err := v.look(full)
		if err != nil {
			return err
		}
		switch {
		case at.Kind == modules.Directory && n.Kind() == modules.Directory:
			onHost[n.Path] = true
			dirs = append(dirs, n.Path)
		case n.Kind() != modules.Directory && (at.Kind == modules.Regular || at.Kind == modules.Symlink):
			gone[path.Dir(n.Path)]++
			if err := v.drop(full, n.Path, at, n); err != nil {
				return err
			}
		}
	}
	mounted := v.mountPoints()
	for _, dir := range slices.Backward(dirs) { // backward: a directory's contents come after it
		if mounted[dir] {
			continue
		}
		if err := v.dropEmpty(dir, gone); err != nil {
			return err
		}
	}
	if v.Name == "/" || mounted[""] {
		return nil
	}
	return v.dropEmpty(".", gone)
}

// dropEmpty plans to remove a directory of which so many names will be gone, if
// there are no others in it.
func (v *survey) dropEmpty(dir string, gone map[string]int) error {
	full := path.Join(v.Name, dir)
	names, err := v.h.Files.List(full)
	if err != nil || len(names) != gone[dir] {
		return err
	}
	if dir == "." {
		if at, err := v.h.Files.Stat(full); err != nil || at.Kind != modules.Directory {
			return err // a link that leads to it
		}
		dir = "ensure"
	} else {
		gone[path.Dir(dir)]++
	}
	return v.drop(full, dir, modules.FileInfo{Kind: modules.Directory}, &modules.TreeNode{Path: dir})
}
