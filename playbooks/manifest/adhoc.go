package manifest

import (
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// AdHoc makes the play of one resource that was given on the command line. Its
// properties are values: nothing in them is an expression.
func AdHoc(pattern string, t modules.Type, properties map[string]any) (*Play, error) {
	return AdHocQuery(pattern, t, "", []map[string]any{properties})
}

// AdHocQuery makes the play of resources that are asked a query of their type, see
// [modules.Querier], and neither checked nor applied.
func AdHocQuery(pattern string, t modules.Type, query string, all []map[string]any) (*Play, error) {
	here := &yamlpos.Node{File: "command line"}
	play := &Play{Name: "ad hoc", Folder: ".", Hosts: yamlpos.From(here, pattern)}
	l := newLoader("", modules.Registry{t})
	for _, properties := range all {
		body := yamlpos.From(here, properties)
		name := given(body.Get("name"))
		if name == nil {
			return nil, errors.New("command line: name is required")
		}
		props, _, _ := l.split(t, name, body)
		r := &Resource{Type: t, Name: Literal(name), Properties: Literal(props), Query: query}
		l.checkProperties(r)
		play.Resources = append(play.Resources, r)
	}
	if err := Distinct(l.errs); err != nil {
		return nil, err
	}
	return play, nil
}
