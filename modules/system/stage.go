package system

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Stage returns the function of [modules.Host] that makes temporary files in a directory, which only its owner may
// enter. Leftovers of killed processes are removed before the first file is made.
func Stage(dir string) func(ctx context.Context, name string, r io.Reader, a modules.Attributes, use func(temp string) error) error {
	swept := new(sweptDirs)
	return func(ctx context.Context, name string, r io.Reader, a modules.Attributes, use func(temp string) error) error {
		if err := checkPrivate(dir); err != nil {
			return err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		if info, err := root.Stat("."); err != nil || info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("other users may enter the directory %s", dir)
		}
		swept.sweep(root)
		file, temp, err := rooted.CreateTemp(root, filepath.Base(name))
		if err != nil {
			return err
		}
		defer rooted.CloseWritten(file)
		defer root.Remove(temp)
		a.Mode = a.Mode.Perm()
		if err := fill(ctx, file, r, a); err != nil {
			return err
		}
		return approved(root, file, temp, use)
	}
}

// programDir returns the directory of the program, or "".
func programDir() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(program)
}
