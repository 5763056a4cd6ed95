package treestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// hold returns the directory of a tree, if the tree matches its name. The directory is locked, so that no process
// prunes it while it is open.
func hold(root *os.Root, name string) (*os.File, error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) { // another process is removing it
		dir.Close()
		return nil, err
	}
	// Without locks, only its age protects the tree: see remove.
	if err := verify(root, name, dir); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// verify compares a tree with its listing, and the listing with the name. The tree is locked, but another process may
// have moved it away before.
func verify(root *os.Root, name string, dir *os.File) error {
	opened, err := dir.Stat()
	if err != nil {
		return err
	}
	there, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case !os.SameFile(opened, there):
		return errors.New("it is a link, or another one by now")
	}
	if err := checkDirectory(there); err != nil {
		return err
	}
	listing := path.Join(name, listingName)
	if err := checkFile(root, listing, 0o400, name); err != nil {
		return fmt.Errorf("%s: %w", listingName, err)
	}
	text, err := root.ReadFile(listing)
	if err != nil {
		return err
	}
	tree, err := parse(text)
	if err != nil {
		return err
	}
	return verifyNodes(root, path.Join(name, filesName), tree)
}

func verifyNodes(root *os.Root, dir string, tree *modules.Tree) error {
	top := modules.TreeNode{}
	if err := verifyNode(root, dir, &top); err != nil {
		return err
	}
	for i := range tree.Nodes {
		if err := verifyNode(root, dir, &tree.Nodes[i]); err != nil {
			return fmt.Errorf("%s: %w", tree.Nodes[i].Path, err)
		}
	}
	return nil
}

// verifyNode checks one path. The directories above it have been checked: they are not links.
func verifyNode(root *os.Root, dir string, n *modules.TreeNode) error {
	name := path.Join(dir, n.Path)
	if n.Kind() == modules.Regular {
		return checkFile(root, name, mode(n), n.Content.SHA256())
	}
	if n.Kind() == modules.Symlink {
		target, err := root.Readlink(name)
		if err == nil && target != n.Target {
			err = errors.New("it leads elsewhere")
		}
		return err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	return checkDirectory(info)
}

// lockPoll is the interval between attempts to get a lock that another process holds.
const lockPoll = 100 * time.Millisecond

// lockAll waits until no other process puts or removes trees.
func lockAll(ctx context.Context, root *os.Root) (unlock func(), err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return func() { dir.Close() }, nil // the file system has no locks, so continue without
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

var errNotAsMade = errors.New("the copy has been changed since it was made")

func checkDirectory(info fs.FileInfo) error {
	if info.Mode() != fs.ModeDir|0o700 {
		return errNotAsMade
	}
	return nil
}

// checkFile reports a file that is not regular or has another mode or other bytes.
func checkFile(root *os.Root, name string, mode fs.FileMode, digest string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode() != mode {
		return errNotAsMade
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return errNotAsMade
	}
	return nil
}
