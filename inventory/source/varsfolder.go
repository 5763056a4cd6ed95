package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// The folders that hold files of variables.
const (
	GroupVars = "group_vars"
	HostVars  = "host_vars"
)

// A VarsFolder may have group_vars and host_vars in it.
type VarsFolder struct {
	path  string
	owner int // uid of what the operator named: the inventory, or the folder of a manifest
}

// VarsFolders are those to look for variables in; what is in later ones counts more.
type VarsFolders []VarsFolder

// Add takes a folder, which the operator vouches for by having named a file in it,
// or itself. One that is there already moves up, so that each is read once and has
// the last word it would have had.
func (f *VarsFolders) Add(path, named string) {
	info, err := os.Stat(named)
	if err != nil {
		return // there is nothing to find in it, or reading named tells of it
	}
	rest := slices.DeleteFunc(*f, func(known VarsFolder) bool { return sameFolder(known.path, path) })
	*f = append(rest, VarsFolder{path: path, owner: ownerOf(info)})
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// Open lists what is in a folder's [GroupVars] or [HostVars].
func (f VarsFolder) Open(kind string) (VarsListing, error) {
	l := VarsListing{Path: filepath.Join(f.path, kind), in: f}
	info, err := os.Stat(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return l, Error(l.Path, err)
	case !info.IsDir():
		l.Skipped = "is no folder, and is not read"
		return l, nil
	}
	entries, err := f.list(l.Path, info)
	if err != nil {
		return l, err
	}
	l.names = make(map[string]bool, len(entries))
	for _, e := range entries {
		l.names[e.Name()] = true
	}
	return l, nil
}

func (f VarsFolder) list(path string, info fs.FileInfo) ([]fs.DirEntry, error) {
	if err := f.check(path, info); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, Error(path, err)
	}
	return entries, nil
}

// read takes a regular file only, and none that another user may have put there.
func (f VarsFolder) read(path string) ([]byte, error) {
	// Opening a pipe without O_NONBLOCK would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Error(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, Error(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &yamlpos.Error{File: path, Msg: "is no regular file"}
	}
	if err := f.check(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes))
	if err != nil {
		return nil, Error(path, err)
	}
	return data, nil
}

// check refuses what another user may have put beside an inventory or manifest
// that the operator has named. If everybody can write to the folder, as on file
// systems without owners, the operator trusts everybody already.
func (f VarsFolder) check(path string, info fs.FileInfo) error {
	around, err := os.Stat(f.path)
	if err != nil {
		return Error(f.path, err)
	}
	if around.Mode().Perm()&0o002 != 0 && around.Mode()&fs.ModeSticky == 0 {
		return nil
	}
	owner := ownerOf(info)
	switch {
	case owner != 0 && owner != os.Geteuid() && owner != f.owner:
		return &yamlpos.Error{
			File: path, Msg: "belongs to another user, who could change what is run",
			Hint: "if you trust it, make it yours: chown, or copy the folder",
		}
	case info.Mode().Perm()&0o002 != 0:
		return &yamlpos.Error{File: path, Msg: "can be written to by every user, who could change what is run", Hint: "chmod o-w " + path}
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}
