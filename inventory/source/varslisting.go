package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A VarsListing is what a folder group_vars or host_vars has in it.
type VarsListing struct {
	Path    string
	Skipped string // why it is not read, where that is worth a warning

	in    VarsFolder
	names map[string]bool // nil if there is no such folder
}

// varsSuffixes are those of files of variables, in the order in which they are looked
// for.
var varsSuffixes = []string{"", ".yml", ".yaml", ".json"}

// Find lists the files of a group or host: the first of NAME, NAME.yml, NAME.yaml
// and NAME.json that exists, or what is in it if it is a folder. It gives those it
// has found also if there is an error.
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
			w := varsWalker{in: l.in}
			w.walk(path, info, 0)
			return w.found, w.errs.Err()
		}
		return []string{path}, nil
	}
	return nil, nil
}

// A varsWalker lists the files of variables in a folder and the folders in it, by name:
// files without an extension or with one of those of YAML and JSON, and folders
// without one, but nothing hidden and no backups.
type varsWalker struct {
	in    VarsFolder
	found []string
	errs  yamlpos.Errors
}

func (w *varsWalker) walk(dir string, info fs.FileInfo, depth int) {
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
		case info.Mode().IsRegular() && slices.Contains(varsSuffixes, suffix):
			w.found = append(w.found, path)
		}
	}
}

// Read gives the map that one of the files of [VarsListing.Find] holds. It is nil if
// there is nothing in the file.
func (l VarsListing) Read(path string) (*yamlpos.Node, error) {
	data, err := l.in.read(path)
	if err != nil {
		return nil, err
	}
	return parseVars(path, data)
}

func parseVars(path string, data []byte) (*yamlpos.Node, error) {
	documents, err := yamlpos.Parse(path, data, yamlpos.PlainTag("!unsafe"), yamlpos.KeepEncrypted())
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
