package treestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Names that begin with a dot belong to trees that are being written or removed.
const (
	newPrefix = ".new-"
	oldPrefix = ".old-"
)

func makeAside(root *os.Root, prefix string) (name string, err error) {
	name = prefix + rand.Text()
	return name, root.Mkdir(name, 0o700)
}

// removeAside removes a tree. It renames the tree first, so that no process finds a part of it in its place. A missing
// tree is not an error.
func removeAside(root *os.Root, name string) error {
	aside := oldPrefix + rand.Text()
	err := root.Rename(name, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return rooted.RemoveTree(root, aside)
}

func write(ctx context.Context, root *os.Root, name string, mode fs.FileMode, text []byte) error {
	return fill(ctx, root, name, mode, bytes.NewReader(text))
}

// fill writes a new file. Until it is complete, no user can execute it.
func fill(ctx context.Context, root *os.Root, name string, mode fs.FileMode, r io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return rooted.Cause(err)
	}
	_, err = io.Copy(f, rooted.UntilDone{Ctx: ctx, In: r})
	if err == nil {
		err = f.Chmod(mode)
	}
	return rooted.Cause(errors.Join(err, rooted.CloseWritten(f)))
}
