package source

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// An Item is one file of an inventory.
type Item struct {
	Path string
	Data []byte // its content
	// Script reports that the file is a program to run: it begins with #!, or is executable and binary.
	Script bool
	// Skipped is the reason why the file was not read, if it deserves a warning.
	Skipped string
}

// Named reads a file that the operator has named, and that info describes. If it is a
// script, the operator wants it run.
func Named(ctx context.Context, path string, info fs.FileInfo) (Item, error) {
	data, err := read(ctx, path, info)
	if err != nil {
		return Item{}, err
	}
	return Item{Path: path, Data: data, Script: isScript(data, info)}, nil
}

func isScript(data []byte, info fs.FileInfo) bool {
	if bytes.HasPrefix(data, []byte("#!")) {
		return true
	}
	return info.Mode().Perm()&0o111 != 0 && bytes.IndexByte(data[:min(len(data), 512)], 0) >= 0
}

// A Folder is one with inventories in it, and in the folders in it.
type Folder struct {
	Path string
	// Scripts allows scripts in it to run; without it they are errors.
	Scripts bool
	// Others are names of files and folders, at any depth, that are not inventories.
	Others []string
	// Note is called before a file is read, or a folder is listed; it may be nil.
	Note func(path string)
}

// Items yields the files in the order of their names; a bad file yields an error instead.
func (f Folder) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { (&folderWalk{f, yield, 0}).folder(ctx, f.Path, nil) }
}

const (
	maxDepth   = 20      // folders below one another
	maxEntries = 100_000 // names in all folders
)

// tooDeep reports whether a folder contains itself, by symbolic links, or has too many parent folders.
func tooDeep(above []fs.FileInfo, is fs.FileInfo) bool {
	return len(above) > maxDepth || slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, is) })
}

// A folderWalk reads a folder and its subfolders. It follows symbolic links.
type folderWalk struct {
	Folder
	yield   func(Item, error) bool
	entries int // so far
}

// folder reads a folder; above are its parent folders. It reports whether to continue.
func (w *folderWalk) folder(ctx context.Context, dir string, above []fs.FileInfo) bool {
	w.note(dir)
	is, err := os.Stat(dir)
	if err != nil {
		return w.yield(Item{}, Error(dir, err))
	}
	if tooDeep(above, is) {
		return w.yield(Item{}, &yamlpos.Error{File: dir, Msg: "folders are nested too deep", Hint: "does a symbolic link lead in a circle?"})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return w.yield(Item{}, Error(dir, err))
	}
	found := false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ctx.Err() != nil {
			w.yield(Item{}, context.Cause(ctx))
			return false
		}
		if w.entries++; w.entries > maxEntries {
			w.yield(Item{}, &yamlpos.Error{File: w.Path, Msg: fmt.Sprintf("has more than %d files and folders, symbolic links followed", maxEntries)})
			return false
		}
		if why, skip := w.skips(e.Name()); skip {
			if why != "" && !w.yield(Item{Path: path, Skipped: why}, nil) {
				return false
			}
			continue
		}
		found = true
		if !w.entry(ctx, path, append(slices.Clone(above), is)) {
			return false
		}
	}
	if !found && len(above) == 0 {
		return w.yield(Item{}, &yamlpos.Error{File: dir, Msg: "the folder contains no inventory", Hint: "these files are ignored: names that begin with . or end in " + strings.Join(ignoredSuffixes, " ")})
	}
	return true
}

func (f Folder) note(path string) {
	if f.Note != nil {
		f.Note(path)
	}
}

// ignoredSuffixes end the names of files that are not read from a folder, as in Ansible
// (INVENTORY_IGNORE_EXTS).
var ignoredSuffixes = []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".ini", ".cfg", ".retry"}

// skips reports whether a file is not read, and if that may surprise, why.
func (f Folder) skips(name string) (why string, skip bool) {
	if strings.HasPrefix(name, ".") || slices.Contains(f.Others, name) {
		return "", true
	}
	skip = slices.ContainsFunc(ignoredSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
	if skip && strings.HasSuffix(name, ".ini") {
		why = "is not read, as Ansible ignores .ini files in a folder; name it with -i, or rename it"
	}
	return why, skip
}

func (w *folderWalk) entry(ctx context.Context, path string, above []fs.FileInfo) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return w.yield(Item{}, Error(path, err))
	case info.IsDir():
		return w.folder(ctx, path, above)
	case !info.Mode().IsRegular(): // opening a pipe might wait for ever
		return w.yield(Item{}, &yamlpos.Error{File: path, Msg: "is neither a file nor a folder"})
	}
	w.note(path)
	item, err := Named(ctx, path, info)
	if err == nil && item.Script && !w.Scripts {
		item, err = Item{}, &yamlpos.Error{
			File: path, Msg: "is a script, and scripts in a folder do not run by default",
			Hint: "pass --allow-inventory-scripts, or name it: -i " + path,
		}
	}
	return w.yield(item, err)
}
