package catalog

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/templates"
)

// A GivenProperty is a property of a resource as people may see it.
type GivenProperty struct {
	Name     string
	Value    any           // a secret is replaced by a marker
	Withheld bool          // set if the value is withheld; its source must be, too
	At       *yamlpos.Node // where it was resolved; nil of a default of the type
	Written  *yamlpos.Node // the same as it is written; nil if nothing is
}

// Given lists the properties that the resource was given and the defaults of its type, in
// the order of the type. Of a sensitive one no value is shown; one that control excludes has
// none.
func (r *RenderedResource) Given() ([]GivenProperty, error) { return r.given(false) }

// given is Given; with secrets nothing is withheld.
func (r *RenderedResource) given(secrets bool) ([]GivenProperty, error) {
	var sent map[string]any
	if len(r.Entry.Properties) > 0 {
		if err := json.Unmarshal(r.Entry.Properties, &sent); err != nil {
			return nil, fmt.Errorf("the properties of %s: %w", r.Entry.Ref(), err)
		}
	}
	var all []GivenProperty
	for _, f := range modules.Fields(r.Resource.Type.New()) {
		at, written := property(*r, f)
		p := GivenProperty{Name: f.Name, At: at, Written: written, Withheld: r.Entry.Sensitive || f.Secret || f.URL}
		switch {
		case f.Name == "name":
			continue
		case at != nil && at.Any() != nil && secrets:
			p.Value = asProperty(at, f.Type)
		case at != nil && r.Entry.Sensitive:
			p.Value = "[sensitive]"
		case at != nil && f.Secret:
			p.Value = "[secret]"
		case at != nil && at.Any() != nil && (f.URL || f.PlayFile && modules.IsURL(at.Text)):
			p.Value = modules.ShownURL(at.Text)
		case at != nil && at.Any() != nil:
			p.Value = expr.Redacted(asProperty(at, f.Type))
		case f.Default != "" && sent[f.Name] != nil:
			p.Value, p.At, p.Written = sent[f.Name], nil, nil
		default:
			continue
		}
		all = append(all, p)
	}
	return all, nil
}

// Expression is the expression that gave the value, if it is on one line, of at most so many
// bytes, and no value of which the parts are unknown; else "".
func (p *GivenProperty) Expression(longest int) string {
	if p.Withheld || p.Written == nil || !templates.HasExpr(p.Written.Text) {
		return ""
	}
	return templates.ShownExpression(p.Written.Text, longest)
}

// property returns a property as resolved, and as written.
func property(r RenderedResource, f modules.Field) (given, written *yamlpos.Node) {
	if r.Properties == nil {
		return nil, nil
	}
	for _, key := range append([]string{f.Name}, f.Also...) {
		if given := r.Properties.Get(key); given != nil {
			return given, r.Resource.Properties.Node.Get(key)
		}
	}
	return nil, nil
}

// asProperty is the value as the property takes it: texts as they are written.
func asProperty(n *yamlpos.Node, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yamlpos.Scalar && t.Kind() != reflect.Bool && t.Kind() != reflect.Int && t.Kind() != reflect.Interface:
		return n.Text
	case n.Kind == yamlpos.List && t.Kind() == reflect.Slice:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = asProperty(item, t.Elem())
		}
		return list
	}
	return n.Any()
}
