package load

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// data gathers the parts from which a host's data is resolved.
func (f *file) data(n *yamlpos.Node) templates.Source {
	src, err := templates.ParseSource(templates.Parts{
		Data: n.Get("data"), Files: f.varsFiles(n.Get("vars_files")),
		Hierarchy: n.Get("hierarchy"), Overrides: n.Get("overrides"),
	})
	f.report.Add(err)
	f.report.Warnings = append(f.report.Warnings, src.Warnings()...)
	return src
}

// varsFiles reads the maps in files of data, which may stand in any folder: no
// host has a say in their names.
func (f *file) varsFiles(n *yamlpos.Node) []*yamlpos.Node {
	if n == nil {
		return nil
	}
	var files []*yamlpos.Node
	for _, item := range n.Items {
		if item.Kind != yamlpos.Scalar || f.values.LiteralText("a file of vars_files", item) == nil {
			continue
		}
		documents, err := f.at.Documents(item, "file")
		switch {
		case err != nil:
			f.report.Add(err)
		case len(documents) > 1:
			f.report.Add(documents[1].Errorf("", "a file of vars_files has one document"))
		case len(documents) == 1 && keys.Given(documents[0]) != nil && documents[0].Kind != yamlpos.Map:
			f.report.Add(documents[0].Errorf("write key: value", "a file of vars_files must be a map, not %s", documents[0].Describe()))
		case len(documents) == 1:
			files = append(files, documents[0])
		}
	}
	return files
}
