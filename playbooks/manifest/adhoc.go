package manifest

import (
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// AdHoc makes the play of one resource that was given on the command line. Its
// properties are values: nothing in them is an expression.
func AdHoc(pattern string, t modules.Type, properties map[string]any) (*Play, error) {
	here := &yamlpos.Node{File: "command line"}
	body := yamlpos.From(here, properties)
	name := given(body.Get("name"))
	if name == nil {
		return nil, errors.New("command line: name is required")
	}
	l := newLoader("", modules.Registry{t})
	props, _, _ := l.split(t, name, body)
	r := &Resource{Type: t, Name: Literal(name), Properties: Literal(props)}
	l.checkProperties(r)
	if err := Distinct(l.errs); err != nil {
		return nil, err
	}
	return &Play{Name: "ad hoc", Folder: ".", Hosts: yamlpos.From(here, pattern), Resources: []*Resource{r}}, nil
}
