package modules

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// HasProgram reports whether a program is in one of the directories of a colon list; "" is
// [DefaultPath].
func HasProgram(files FileReader, dirs, name string) bool {
	if dirs == "" {
		dirs = DefaultPath
	}
	for dir := range strings.SplitSeq(dirs, ":") {
		info, err := Follow(files, path.Join(dir, name))
		if err == nil && info.Kind == Regular && info.Mode&0o111 != 0 {
			return true
		}
	}
	return false
}

// HasRootRights reports whether the process may replace path, a file that belongs to root on most hosts. It ignores
// refusals that also apply to root, for example of a read-only file system.
func HasRootRights(files FileRights, path string) bool {
	err := files.MayReplace(path)
	return !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrKernelRefuses)
}

// RunProgram starts a program that changes something. Where it ends otherwise than with 0, its
// output is recorded, and the error has the first line of its standard error.
func RunProgram(ctx context.Context, h Host, c Command) error {
	exit, err := h.Commands.Run(ctx, c)
	if err != nil || exit.Code == 0 {
		return err
	}
	h.Report.Output(exit)
	said, _, _ := strings.Cut(strings.TrimSpace(exit.Stderr.Text), "\n")
	return Refuse("%s ended with exit code %d: %s", c.Argv[0], exit.Code, said)
}
