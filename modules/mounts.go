package modules

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Mounts mount and unmount at paths that the host has opened itself, with no symbolic link on the
// way: whatever other users rename meanwhile, nothing is mounted anywhere else. Allowed in Apply only.
type Mounts interface {
	// Mount mounts at path what mount has mounted at stage, a new directory that only root can reach.
	// An error leaves nothing mounted.
	Mount(ctx context.Context, path string, mount func(stage string) error) error
	// Bind mounts source at path, with tree also the mounts below it. Before that, adjust may change the options of the
	// mount, which is at stage. Links on the way to source are followed where no other user can have planted them.
	Bind(ctx context.Context, source, path string, tree bool, adjust func(stage string) error) error
	// Remount applies to the mount at path the options that remount has set on its copy at stage.
	Remount(ctx context.Context, path string, remount func(stage string) error) error
	// Unmount unmounts the mount at path.
	Unmount(ctx context.Context, path string) error
}

// A MountPoint is where something is mounted, at a path or below it.
type MountPoint struct {
	Path     string // the mount point, without links
	Below    string // Path relative to the path that it was found for; "" is that path itself
	ReadOnly bool   // kind and options of the mount
}

// A MountedError refuses to replace or remove a path at which, or below which, something is mounted.
// It is an [ErrKernelRefuses].
type MountedError struct {
	Path   string
	Points []MountPoint
}

// Mounted returns a [MountedError], or nil if points is empty.
func Mounted(path string, points []MountPoint) error {
	if len(points) == 0 {
		return nil
	}
	return &MountedError{path, points}
}

// MountedAt is [Mounted] for mounts at path itself.
func MountedAt(path string, points []MountPoint) error {
	return Mounted(path, slices.DeleteFunc(points, func(p MountPoint) bool { return p.Below != "" }))
}

func (e *MountedError) Error() string {
	const most = 5 // number of listed mounts
	var names []string
	for _, p := range e.Points {
		name := p.Path
		if p.ReadOnly {
			name += " (read-only)"
		}
		switch {
		case p.Below == "" && p.Path == e.Path && p.ReadOnly:
			return e.Path + " is a mount point of a read-only file system; unmount it first"
		case p.Below == "" && p.Path == e.Path:
			return e.Path + " is a mount point; unmount it first"
		case p.Below == "":
			return fmt.Sprintf("%s is a mount point, as %s; unmount it first", e.Path, name)
		}
		names = append(names, name)
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return fmt.Sprintf("%s has file systems mounted in it: %s; unmount them first", e.Path, strings.Join(names, ", "))
}

// Redacted implements [Redactor].
func (e *MountedError) Redacted() string { return e.Error() }

// Is makes all of them [ErrKernelRefuses].
func (*MountedError) Is(target error) bool {
	return target == ErrKernelRefuses || target == fs.ErrPermission
}

// FollowBinds returns the path that stands for a path without links, where bind mounts show a directory at
// several paths (see [FileRights].Binds). Where a single file is mounted, it keeps its path, since a new
// file that replaces the other one is not seen there.
func FollowBinds(files FileReader, binds map[string]string, name string) string {
	if len(binds) == 0 {
		return name
	}
	for dir := name; ; dir = filepath.Dir(dir) {
		to, ok := binds[dir]
		switch {
		case !ok && dir != "/":
			continue
		case !ok || to == dir:
			return name
		case dir != name:
			return filepath.Join(to, name[len(dir):])
		}
		if info, err := files.Stat(dir); err != nil || info.Kind != Directory {
			return name
		}
		return to
	}
}

// Canonical returns a path without links, and below bind mounts the path of [FollowBinds]: one directory has one path.
// A path that leads nowhere is returned unchanged.
func Canonical(files Files, name string) string {
	at, _, err := Resolve(files, name)
	if err != nil {
		return name
	}
	return FollowBinds(files, files.Binds(), at)
}

// MayRemoveTree checks whether a path may be removed with everything below it, for every name: a removal that fails
// halfway has done its harm.
func MayRemoveTree(ctx context.Context, files Files, name string) error {
	if err := Mounted(name, files.MountPoints(name)); err != nil {
		return err
	}
	return mayRemove(ctx, files, name)
}

func mayRemove(ctx context.Context, files Files, name string) error {
	if err := cmp.Or(ctx.Err(), files.MayReplace(name)); err != nil {
		return err
	}
	info, err := files.Stat(name)
	if err != nil || info.Kind != Directory {
		return err
	}
	names, err := files.List(name)
	if err != nil {
		return err
	}
	for _, below := range names {
		if err := mayRemove(ctx, files, filepath.Join(name, below)); err != nil {
			return err
		}
	}
	return nil
}
