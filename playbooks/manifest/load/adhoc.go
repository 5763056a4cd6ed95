package load

import (
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/resource"
)

// AdHoc makes the play of one resource that was given on the command line. Its
// properties are values: nothing in them is an expression.
func AdHoc(pattern string, t modules.Type, properties map[string]any) (*manifest.Play, error) {
	return AdHocQuery(pattern, t, "", []map[string]any{properties})
}

// AdHocQuery makes the play of resources that are asked a query of their type, see
// [modules.Querier], and neither checked nor applied.
func AdHocQuery(pattern string, t modules.Type, query string, all []map[string]any) (*manifest.Play, error) {
	here := &yamlpos.Node{File: "command line"}
	play := &manifest.Play{Name: "ad hoc", Folder: ".", Hosts: yamlpos.From(here, pattern)}
	report := &manifest.Report{}
	reader := &resource.Reader{Registry: modules.Registry{t}, Report: report, Values: manifest.NewValueReader(report, nil)}
	for _, properties := range all {
		r, named := reader.Literal(t, yamlpos.From(here, properties))
		if !named {
			return nil, errors.New("command line: name is required")
		}
		r.Query = query
		play.Resources = append(play.Resources, r)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return play, nil
}
