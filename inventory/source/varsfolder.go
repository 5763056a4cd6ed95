package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	owner int // uid of the owner of the named path: an inventory, or the folder of a manifest
}

// VarsFolders are the folders to look for variables in; later ones count more.
type VarsFolders []VarsFolder

// Add takes a folder. The operator vouches for it by naming it or a file in it. A folder
// that was added before moves to the end: it is read once, and counts as much as its last
// mention.
func (f *VarsFolders) Add(path, named string) {
	info, err := os.Stat(named)
	if err != nil {
		return // it is empty, or reading named reports the error
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

// Open lists the files in a folder's [GroupVars] or [HostVars]. note is called before a file is read, or a folder is
// listed or looked for, here and by the listing.
func (f VarsFolder) Open(kind string, note func(path string)) (VarsListing, error) {
	l := VarsListing{Path: filepath.Join(f.path, kind), in: f, note: note}
	note(l.Path)
	info, err := os.Stat(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return l, Error(l.Path, err)
	case !info.IsDir():
		l.Skipped = "is not a folder, and is not read"
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

// read reads a regular file, unless another user may have put it there.
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
		return nil, &yamlpos.Error{File: path, Msg: "is not a regular file"}
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

// check refuses files that another user may have put next to an inventory or manifest that the operator has named. If
// every user can write to the folder, as on file systems without owners, the operator trusts them all already.
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
			File: path, Msg: "belongs to another user, and this user could change the program",
			Hint: "if you trust it, make it yours: chown, or copy the folder",
		}
	case info.Mode().Perm()&0o002 != 0:
		return &yamlpos.Error{File: path, Msg: "is writable for every user, so other users could change the program", Hint: "chmod o-w " + path}
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}

// A VarsListing has the files of a folder group_vars or host_vars.
type VarsListing struct {
	Path    string
	Skipped string // why it is not read, where that is worth a warning

	in    VarsFolder
	note  func(path string)
	names map[string]bool // nil if there is no such folder
}

// varsSuffixes are the extensions of files of variables, in the order in which they are
// looked for.
var varsSuffixes = []string{"", ".yml", ".yaml", ".json"}

// Find lists the files of a group or host: the first of NAME, NAME.yml, NAME.yaml and NAME.json that exists; if it is a
// folder, the files in it. With an error it still returns the files that it has found.
func (l VarsListing) Find(name string) ([]string, error) {
	for _, suffix := range varsSuffixes {
		if !l.names[name+suffix] {
			continue
		}
		path := filepath.Join(l.Path, name+suffix)
		info, err := os.Stat(path)
		switch {
		case err != nil: // a symbolic link that leads nowhere
			continue
		case info.IsDir():
			w := varsWalker{in: l.in, note: l.note}
			w.walk(path, info, nil)
			return w.found, w.errs.Err()
		}
		return []string{path}, nil
	}
	return nil, nil
}

// A varsWalker lists the files of variables in a folder and its subfolders, by name. Files may have an extension of
// YAML or JSON or none, folders may have none. Hidden files and backups are skipped.
type varsWalker struct {
	in      VarsFolder
	note    func(path string)
	found   []string
	errs    yamlpos.Errors
	entries int // so far
}

// walk lists a folder; above are its parent folders.
func (w *varsWalker) walk(dir string, info fs.FileInfo, above []fs.FileInfo) {
	if tooDeep(above, info) {
		w.errs.Add(&yamlpos.Error{File: dir, Msg: "folders of variables are nested too deep", Hint: "does a symbolic link lead in a circle?"})
		return
	}
	w.note(dir)
	entries, err := w.in.list(dir, info)
	if err != nil {
		w.errs.Add(err)
		return
	}
	for _, e := range entries {
		name := e.Name()
		if w.entries++; w.entries > maxEntries {
			if w.entries == maxEntries+1 {
				w.errs.Add(&yamlpos.Error{File: dir, Msg: fmt.Sprintf("there are more than %d files and folders, symbolic links followed", maxEntries)})
			}
			return
		}
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
			continue
		}
		path := filepath.Join(dir, name)
		inside, err := os.Stat(path)
		suffix := filepath.Ext(name)
		switch {
		case err != nil: // a symbolic link that leads nowhere
		case inside.IsDir() && suffix == "":
			w.walk(path, inside, append(slices.Clone(above), info))
		case inside.Mode().IsRegular() && slices.Contains(varsSuffixes, suffix):
			w.found = append(w.found, path)
		}
	}
}

// Read returns the map in a file that [VarsListing.Find] has listed; nil if the file is empty. by opens encrypted
// values, and may be nil.
func (l VarsListing) Read(path string, by yamlpos.Opener) (*yamlpos.Node, error) {
	l.note(path)
	data, err := l.in.read(path)
	if err != nil {
		return nil, err
	}
	return parseVars(path, data, by)
}

func parseVars(path string, data []byte, by yamlpos.Opener) (*yamlpos.Node, error) {
	documents, err := yamlpos.Parse(path, data, yamlpos.PlainTag("!unsafe"), yamlpos.KeepSealed(by), yamlpos.Secrets())
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0 || len(documents) == 1 && documents[0].IsNull():
		return nil, nil
	case len(documents) > 1:
		return nil, documents[1].Errorf("remove the --- between them", "a file of variables is one document, not %d", len(documents))
	case documents[0].Kind != yamlpos.Map:
		return nil, documents[0].Errorf("write a map: name: value", "a file of variables is a map, not %s", documents[0].Describe())
	}
	return documents[0], nil
}
