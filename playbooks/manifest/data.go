package manifest

import (
	"path/filepath"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// data gathers the parts from which a host's data is resolved.
func (l *loader) data(n *yamlpos.Node) templates.Source {
	src, err := templates.ParseSource(templates.Parts{
		Data: n.Get("data"), Files: l.varsFiles(n.Get("vars_files")),
		Hierarchy: n.Get("hierarchy"), Overrides: n.Get("overrides"),
	})
	l.add(err)
	l.warnings = append(l.warnings, src.Warnings()...)
	return src
}

// varsFiles reads the maps in files of data, which may stand in any folder: no
// host has a say in their names.
func (l *loader) varsFiles(n *yamlpos.Node) []*yamlpos.Node {
	if n == nil {
		return nil
	}
	var files []*yamlpos.Node
	for _, item := range n.Items {
		if item.Kind != yamlpos.Scalar || l.literalText("a file of vars_files", item) == nil {
			continue
		}
		documents, ok := l.readBeside(item, "file")
		switch {
		case !ok:
		case len(documents) > 1:
			l.add(documents[1].Errorf("", "a file of vars_files has one document"))
		case len(documents) == 1 && given(documents[0]) != nil && documents[0].Kind != yamlpos.Map:
			l.add(documents[0].Errorf("write key: value", "a file of vars_files must be a map, not %s", documents[0].Describe()))
		case len(documents) == 1:
			files = append(files, documents[0])
		}
	}
	return files
}

// readBeside reads the YAML file that n names, seen from the manifest's folder;
// kind is what it should be.
func (l *loader) readBeside(n *yamlpos.Node, kind string) (documents []*yamlpos.Node, ok bool) {
	path := l.beside(n)
	if err := l.checkEnclosed(n, path); err != nil {
		l.add(err)
		return nil, false
	}
	data, err := read(path, kind)
	if err != nil {
		l.add(n.Errorf("", "%v", err))
		return nil, false
	}
	documents, err = yamlpos.Parse(l.confined.Call(path), data)
	l.add(err)
	return documents, err == nil
}

// beside is the path that n names, seen from the manifest's folder: of a folder
// with a manifest.yaml that is the one.
func (l *loader) beside(n *yamlpos.Node) string {
	if filepath.IsAbs(n.Text) {
		return manifestIn(n.Text)
	}
	return manifestIn(filepath.Join(l.folder, n.Text))
}
