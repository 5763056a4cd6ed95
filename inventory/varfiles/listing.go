package varfiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Listing is what a folder group_vars or host_vars has in it.
type Listing struct {
	Path    string
	Skipped string // why it is not read, where that is worth a warning

	in    Folder
	names map[string]bool // nil if there is no such folder
}

// suffixes are those of files of variables, in the order in which they are looked
// for.
var suffixes = []string{"", ".yml", ".yaml", ".json"}

// Find lists the files of a group or host: the first of NAME, NAME.yml, NAME.yaml
// and NAME.json that exists, or what is in it if it is a folder. It gives those it
// has found also if there is an error.
func (l Listing) Find(name string) ([]string, error) {
	for _, suffix := range suffixes {
		if !l.names[name+suffix] {
			continue
		}
		path := filepath.Join(l.Path, name+suffix)
		info, err := os.Stat(path)
		switch {
		case err != nil: // a symbolic link that leads nowhere
			continue
		case info.IsDir():
			w := walker{in: l.in}
			w.walk(path, info, 0)
			return w.found, w.errs.Err()
		}
		return []string{path}, nil
	}
	return nil, nil
}

// maxDepth bounds folders in folders of variables, symbolic links followed.
const maxDepth = 20

// A walker lists the files of variables in a folder and the folders in it, by name:
// files without an extension or with one of those of YAML and JSON, and folders
// without one, but nothing hidden and no backups.
type walker struct {
	in    Folder
	found []string
	errs  yamlpos.Errors
}

func (w *walker) walk(dir string, info fs.FileInfo, depth int) {
	if depth > maxDepth {
		w.errs.Add(&yamlpos.Error{File: dir, Msg: "folders of variables are nested too deep", Hint: "does a symbolic link lead in a circle?"})
		return
	}
	entries, err := w.in.list(dir, info)
	if err != nil {
		w.errs.Add(err)
		return
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		suffix := filepath.Ext(name)
		switch {
		case err != nil: // a symbolic link that leads nowhere
		case info.IsDir() && suffix == "":
			w.walk(path, info, depth+1)
		case info.Mode().IsRegular() && slices.Contains(suffixes, suffix):
			w.found = append(w.found, path)
		}
	}
}
