package inventory

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// maxFolderDepth bounds folders in folders, symbolic links followed.
const maxFolderDepth = 20

// ignoredSuffixes are those of files in a folder that are no inventory, as
// Ansible has them (INVENTORY_IGNORE_EXTS).
var ignoredSuffixes = []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".ini", ".cfg", ".retry"}

// folder takes the inventories in a folder and in the folders in it, in the order
// of their names.
func (b *builder) folder(ctx context.Context, dir string, depth int) error {
	if depth > maxFolderDepth {
		return &yamlpos.Error{File: dir, Msg: "folders are nested too deep", Hint: "does a symbolic link lead in a circle?"}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return reading(dir, err)
	}
	found := false
	for _, e := range entries {
		if b.isIgnored(dir, e.Name()) {
			continue
		}
		found = true
		b.errs.Add(b.entry(ctx, filepath.Join(dir, e.Name()), depth))
	}
	if !found && depth == 0 {
		return &yamlpos.Error{File: dir, Msg: "there is no inventory in the folder", Hint: "what begins with . or ends in " + strings.Join(ignoredSuffixes, " ") + " is not read"}
	}
	return nil
}

func (b *builder) isIgnored(dir, name string) bool {
	if strings.HasPrefix(name, ".") || name == groupVarsFolder || name == hostVarsFolder || name == "vars_plugins" {
		return true
	}
	ignored := slices.ContainsFunc(ignoredSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
	if ignored && strings.HasSuffix(name, ".ini") {
		b.notes.add(textNode(filepath.Join(dir, name), ""), "is not read, as Ansible ignores .ini files in a folder; name it with -i, or rename it")
	}
	return ignored
}

func (b *builder) entry(ctx context.Context, path string, depth int) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return reading(path, err)
	case info.IsDir():
		return b.folder(ctx, path, depth+1)
	case !info.Mode().IsRegular(): // opening a pipe might wait for ever
		return &yamlpos.Error{File: path, Msg: "is neither a file nor a folder"}
	}
	return b.file(ctx, path, info, false)
}
