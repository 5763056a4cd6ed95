// Package treestore stores trees of files that a controller has sent, so that they are sent once. Each is in a
// directory named after its content. A stored tree is not trusted: it is used only after every file has been verified.
package treestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Folder is the name of a store's directory.
const Folder = "resources"

// A Store is the trees in one directory. It may be used by many goroutines at once.
type Store struct {
	// Dir is the parent of the store: an absolute path in which only this user can change anything.
	Dir string

	mu   sync.Mutex
	held map[string]*os.File // trees in use, by their hash; locked until the process ends
}

// A Source provides the files of a tree.
type Source struct {
	modules.Contents
	// Want requests contents that will be opened; nil if all are here.
	Want func([]modules.Content) error
}

// A tree has its files in the first, and its listing in the second.
const (
	filesName   = "files"
	listingName = "tree.json"
)

// Put returns the directory with the tree of a listing, which is the JSON of a [modules.Tree]. An existing tree is
// verified and not written: then nothing is read from from. Files have mode 0400 or 0500, all directories 0700.
func (s *Store) Put(ctx context.Context, listing modules.Content, from Source) (dir string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := listing.SHA256()
	dir = filepath.Join(s.Dir, Folder, name, filesName)
	if s.held[name] != nil {
		return dir, nil
	}
	root, err := s.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	held, err := hold(root, name)
	if err != nil {
		if held, err = s.place(ctx, root, listing, from); err != nil {
			return "", fmt.Errorf("putting the folder %s/ of the play on the host: %w", Folder, err)
		}
	}
	if s.held == nil {
		s.held = map[string]*os.File{}
	}
	s.held[name] = held
	return dir, nil
}

// Close lets go of the trees in use.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range s.held {
		errs = append(errs, f.Close())
	}
	s.held = nil
	return errors.Join(errs...)
}

// open opens the directory of the store, and creates it if it is missing. Only this user may have access to it.
func (s *Store) open() (*os.Root, error) {
	above, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := above.Mkdir(Folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := above.Lstat(Folder)
	if err != nil {
		return nil, err
	}
	place := filepath.Join(s.Dir, Folder)
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory; to remove it, run ccm-push clean", place)
	case owner != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to user %d, not to %d", place, owner, os.Geteuid())
	case info.Mode().Perm() != 0o700:
		return nil, fmt.Errorf("%s has mode %04o, not 0700; ccm-push clean removes it", place, info.Mode().Perm())
	}
	return above.OpenRoot(Folder)
}

// place writes a missing or damaged tree, unless another process has just done so, and removes old ones.
func (s *Store) place(ctx context.Context, root *os.Root, listing modules.Content, from Source) (*os.File, error) {
	unlock, err := lockAll(ctx, root)
	if err != nil {
		return nil, err
	}
	defer unlock()
	name := listing.SHA256()
	if held, err := hold(root, name); err == nil {
		return held, nil
	}
	if err := put(ctx, root, listing, from); err != nil {
		return nil, err
	}
	held, err := hold(root, name)
	if err != nil {
		return nil, fmt.Errorf("the stored copy differs from its source: %w", err)
	}
	prune(root, s.held, name)
	return held, nil
}

// put writes a tree next to its place and moves it there. It does not sync: verification finds the damage of a crash.
func put(ctx context.Context, root *os.Root, listing modules.Content, from Source) (err error) {
	text, tree, err := read(ctx, listing, from)
	if err != nil {
		return err
	}
	if from.Want != nil {
		if err := from.Want(modules.MissingContents(tree)); err != nil {
			return err
		}
	}
	temp, err := makeAside(root, newPrefix)
	if err != nil {
		return rooted.Cause(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rooted.RemoveTree(root, temp))
		}
	}()
	if err := write(ctx, root, path.Join(temp, listingName), 0o400, text); err != nil {
		return fmt.Errorf("%s: %w", listingName, err)
	}
	if err := root.Mkdir(path.Join(temp, filesName), 0o700); err != nil {
		return rooted.Cause(err)
	}
	for i := range tree.Nodes {
		if err := putNode(ctx, root, path.Join(temp, filesName), &tree.Nodes[i], from); err != nil {
			return fmt.Errorf("%s: %w", tree.Nodes[i].Path, err)
		}
	}
	if err := removeAside(root, listing.SHA256()); err != nil { // a damaged tree
		return rooted.Cause(err)
	}
	return rooted.Cause(root.Rename(temp, listing.SHA256()))
}

// maxListing bounds the JSON of a tree, in bytes: each node has a path, a hash and a
// few words, or a small content.
const maxListing = wire.MaxFromController

// read returns a listing, as text and parsed.
func read(ctx context.Context, listing modules.Content, from modules.Contents) (text []byte, tree *modules.Tree, err error) {
	r, err := from.Open(ctx, listing)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if text, err = io.ReadAll(io.LimitReader(r, maxListing)); err != nil {
		return nil, nil, err
	}
	tree, err = parse(text)
	return text, tree, err
}

func parse(text []byte) (*modules.Tree, error) {
	tree := new(modules.Tree)
	if err := json.Unmarshal(text, tree); err != nil {
		return nil, err
	}
	return tree, tree.Validate()
}

// putNode writes one file, directory or link. Its directory has been written before.
func putNode(ctx context.Context, root *os.Root, dir string, n *modules.TreeNode, from Source) error {
	name := path.Join(dir, n.Path)
	switch n.Kind() {
	case modules.Directory:
		return rooted.Cause(root.Mkdir(name, 0o700))
	case modules.Symlink:
		return rooted.Cause(root.Symlink(n.Target, name))
	}
	r, err := from.Open(ctx, n.Content)
	if err != nil {
		return err
	}
	defer r.Close()
	return fill(ctx, root, name, mode(n), r)
}

// mode is the mode of a file: read-only, and only for the owner.
func mode(n *modules.TreeNode) fs.FileMode { return n.Mode&0o100 | 0o400 }
