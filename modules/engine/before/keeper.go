package before

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// maxNodes bounds the paths that are kept of one resource.
const maxNodes = 10_000

// A Keeper keeps the state of paths before one resource changes them. It is for one goroutine.
type Keeper struct {
	Files    modules.Files // files of the host
	Contents Contents
	// Note notes nodes, so that they outlive a crash of the host, with their contents.
	Note func([]Node) error

	nodes []Node
	known map[string]bool
	err   error
}

// Acting returns the files of the host with a writer that keeps each path before it changes it.
func (k *Keeper) Acting() modules.Files {
	files := k.Files
	files.FileWriter = keeping{k, files.FileWriter}
	files.DirectoryOpener = opening{files.DirectoryOpener, k}
	return files
}

// Err returns why a part of the changes was not kept. Then the whole record is invalid.
func (k *Keeper) Err() error { return k.err }

// Keep keeps the states of paths once, and of missing directories above them, which would be created. [Keeper.Err]
// returns a failure.
func (k *Keeper) Keep(_ context.Context, paths ...string) { k.keep(paths, false) }

// KeepAttributes is Keep without what files hold.
func (k *Keeper) KeepAttributes(_ context.Context, paths ...string) { k.keep(paths, true) }

func (k *Keeper) keep(paths []string, bare bool) {
	if k.err != nil {
		return
	}
	before := len(k.nodes)
	for _, p := range paths {
		if k.err = k.withParents(p, bare); k.err != nil {
			return
		}
	}
	if fresh := k.nodes[before:]; len(fresh) > 0 {
		k.err = k.Note(fresh)
	}
}

func (k *Keeper) withParents(name string, bare bool) error {
	var missing []string
	for dir := path.Dir(name); dir != "/" && !k.known[dir]; dir = path.Dir(dir) {
		if _, err := k.Files.Stat(dir); !modules.NotThere(err) {
			break
		}
		missing = append(missing, dir)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := k.one(missing[i], bare); err != nil {
			return err
		}
	}
	return k.one(name, bare)
}

// one keeps a path; bare is without what a file holds.
func (k *Keeper) one(name string, bare bool) error {
	if k.known[name] || k.ofAccounts(name) {
		return nil
	}
	if len(k.nodes) == maxNodes {
		return modules.Refuse("it changes more than %d paths", maxNodes)
	}
	n, err := look(k.Files, name)
	if err == nil {
		err = k.content(&n, bare)
	}
	if err != nil {
		return err
	}
	if place := Place(k.Files, name); place != name {
		n.Place = place
	}
	k.known[name] = true
	k.nodes = append(k.nodes, n)
	return nil
}

// content keeps the content of a file, or records why it cannot be restored.
func (k *Keeper) content(n *Node, bare bool) error {
	switch {
	case n.Kind == modules.Special:
		n.Lost = "it was a device, socket or pipe"
	case n.Kind != modules.Regular:
	case bare:
		n.Lost = "only its owner and mode have been kept"
		return n.written(k.Files)
	case n.Size > MaxContent:
		n.Lost = fmt.Sprintf("it had more than the %d MiB that are kept of a file", MaxContent>>20)
		return n.written(k.Files) // if only the owner or the mode changes
	default:
		return k.put(n)
	}
	return nil
}

// put keeps the bytes of a file. If the file is replaced meanwhile, the examined one counts.
func (k *Keeper) put(n *Node) error {
	r, err := k.Files.Open(n.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	if !modules.SameOwner(r, n.info()) {
		n.Lost = "another process was replacing it"
		return nil
	}
	var size int64
	if n.SHA256, size, err = k.Contents.Put(io.LimitReader(r, MaxContent+1)); size != n.Size {
		n.Lost = "it was just being written"
	}
	return err
}

// tree keeps a path and everything below it.
func (k *Keeper) tree(ctx context.Context, name string) {
	var all []string
	var walk func(name string) error
	walk = func(name string) error {
		if len(all) > maxNodes {
			return modules.Refuse("it removes more than %d paths", maxNodes)
		}
		all = append(all, name)
		at, err := k.Files.Stat(name)
		if err != nil || at.Kind != modules.Directory {
			return err
		}
		names, err := k.Files.List(name)
		for _, below := range names {
			if err == nil {
				err = walk(path.Join(name, below))
			}
		}
		return err
	}
	if err := walk(name); err != nil {
		if k.err == nil && !modules.NotThere(err) {
			k.err = err
		}
		return
	}
	k.Keep(ctx, all...)
}

// Known are paths that have been kept in an earlier try.
func (k *Keeper) Known(nodes []Node) {
	k.known = make(map[string]bool, len(nodes))
	for i := range nodes {
		k.known[nodes[i].Path] = true
	}
}

// Look returns the current states at the paths of nodes.
func Look(files modules.Files, nodes []Node) ([]Node, error) {
	left := make([]Node, len(nodes))
	for i := range nodes {
		if nodes[i].Account != nil {
			record, err := readRecord(files, strings.TrimPrefix(nodes[i].Path, accountPath("")))
			if err != nil {
				return nil, err
			}
			left[i] = Node{Path: nodes[i].Path, Kind: account, Account: record}
			continue
		}
		n, err := lookInto(files, nodes[i].Path, nodes[i].Written != 0)
		if err != nil {
			return nil, err
		}
		left[i] = n
	}
	return left, nil
}

// keeping is a writer that has paths kept before it changes them.
type keeping struct {
	k *Keeper
	modules.FileWriter
}

// Write implements [modules.FileWriter].
func (f keeping) Write(ctx context.Context, path string, r io.Reader, a modules.Attributes) error {
	f.k.Keep(ctx, path)
	return f.FileWriter.Write(ctx, path, r, a)
}

// WriteIf implements [modules.FileWriter].
func (f keeping) WriteIf(ctx context.Context, path string, r io.Reader, a modules.Attributes, approve func(string) error) error {
	f.k.Keep(ctx, path)
	return f.FileWriter.WriteIf(ctx, path, r, a, approve)
}

// Copy implements [modules.FileWriter]. Copies are not kept, since nothing is lost by them.
func (f keeping) Copy(ctx context.Context, path, to string) error {
	return f.FileWriter.Copy(ctx, path, to)
}

// MakeDir implements [modules.FileWriter].
func (f keeping) MakeDir(ctx context.Context, path string, a modules.Attributes) error {
	f.k.Keep(ctx, path)
	return f.FileWriter.MakeDir(ctx, path, a)
}

// Symlink implements [modules.FileWriter].
func (f keeping) Symlink(ctx context.Context, path, target string) error {
	f.k.Keep(ctx, path)
	return f.FileWriter.Symlink(ctx, path, target)
}

// SetAttributes implements [modules.FileWriter].
func (f keeping) SetAttributes(ctx context.Context, path string, a modules.Attributes) error {
	f.k.Keep(ctx, path)
	return f.FileWriter.SetAttributes(ctx, path, a)
}

// Remove implements [modules.FileWriter].
func (f keeping) Remove(ctx context.Context, path string, tree bool) error {
	if tree {
		f.k.tree(ctx, path)
	} else {
		f.k.Keep(ctx, path)
	}
	return f.FileWriter.Remove(ctx, path, tree)
}

// opening has what writers of directories change kept.
type opening struct {
	modules.DirectoryOpener
	k *Keeper
}

// Within implements [modules.DirectoryOpener].
func (o opening) Within(dir string) modules.FileWriter {
	return keeping{o.k, o.DirectoryOpener.Within(dir)}
}
