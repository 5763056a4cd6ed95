package treestore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

const (
	// kept is how many trees a store keeps in addition to those in use.
	kept = 3
	// unfinished is the age at which an incomplete tree counts as left by a process that has ended. It is also the
	// least age of a tree to prune that cannot be locked.
	unfinished = 24 * time.Hour
)

// prune removes the trees that are older than the newest few, and incomplete ones. It ignores errors: the next call
// tries again.
func prune(root *os.Root, held map[string]*os.File, newest string) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return
	}
	var trees []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
		case strings.HasPrefix(e.Name(), newPrefix), strings.HasPrefix(e.Name(), oldPrefix):
			if time.Since(info.ModTime()) > unfinished {
				_ = rooted.RemoveTree(root, e.Name())
			}
		case e.Name() != newest && held[e.Name()] == nil:
			trees = append(trees, info)
		}
	}
	slices.SortFunc(trees, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, old := range trees[min(kept, len(trees)):] {
		remove(root, old)
	}
}

// remove removes a tree unless a process uses it: each holds a lock on its directory.
func remove(root *os.Root, tree fs.FileInfo) {
	dir, err := root.Open(tree.Name())
	if err != nil {
		return
	}
	defer dir.Close()
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && time.Since(tree.ModTime()) < unfinished {
		return // NFS, for one, may know no such locks
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		_ = removeAside(root, tree.Name())
	}
}
