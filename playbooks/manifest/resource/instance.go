package resource

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/dsc"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// Instance makes a resource of an instance of a DSC document. Everything in it is a value.
func (rd *Reader) Instance(i *dsc.Instance) *manifest.Resource {
	t, ok := rd.Registry.Lookup(i.Type)
	name := yamlpos.From(i.Node, i.Name)
	r := &manifest.Resource{Type: t, Name: manifest.Literal(name), Require: required(i)}
	if i.Excluded {
		never, _ := templates.ParseExpr("false", templates.At(i.Node))
		r.If = []*templates.Expr{never}
	}
	if !ok || i.Properties == nil {
		r.Properties = manifest.Literal(&yamlpos.Node{File: i.Node.File, Line: i.Node.Line, Column: i.Node.Column, Kind: yamlpos.Map})
		return r
	}
	var guessed map[*yamlpos.Node]bool
	if i.BuiltIn {
		guessed = rd.builtIn(r, i)
	} else {
		r.Properties = manifest.Literal(instanceProperties(t, i))
	}
	before := len(rd.Report.Errors)
	rd.checkReceiving(r, guessed)
	if i.Secure && len(rd.Report.Errors) > before { // which may quote it
		rd.Report.Errors = rd.Report.Errors[:before]
		rd.Report.Add(i.Node.Errorf("", "the properties of %s are not valid; the details are hidden because a value is secure", i.Ref()))
	}
	return r
}

// required lists the dependencies of an instance; nil means none.
func required(i *dsc.Instance) *manifest.Value {
	if len(i.Requires) == 0 {
		return nil
	}
	var refs []string
	for _, other := range i.Requires {
		refs = append(refs, other.Ref())
	}
	v := manifest.Literal(yamlpos.From(i.Node, refs))
	return &v
}

// builtIn sets the properties of a built-in type, and returns the guessed ones. The name in the document becomes the
// alias if the type's own name is among the properties.
func (rd *Reader) builtIn(r *manifest.Resource, i *dsc.Instance) (guessed map[*yamlpos.Node]bool) {
	p, _ := rd.split(r.Type, nil, i.Properties)
	for _, pair := range p.common.Pairs {
		rd.Report.Add(pair.Key.Errorf(`in a DSC document use "dependsOn", "condition" and "copy"`, "%q cannot be used in a DSC document", pair.Key.Text))
	}
	r.Properties = manifest.Literal(p.props)
	if own := keys.Given(i.Properties.Get("name")); own != nil {
		alias := r.Name
		r.Name, r.Alias = manifest.Literal(own), &alias
	}
	if i.Secure {
		v := manifest.Literal(yamlpos.From(i.Node, true))
		r.Sensitive = &v
	}
	if i.Receives != nil {
		v := manifest.Literal(i.Receives)
		r.Recv = &v
		for _, pair := range i.Receives.Pairs {
			rd.receivable(r, pair.Key)
		}
	}
	return p.guessed
}

// instanceProperties makes the properties of an instance of a DSC resource.
func instanceProperties(t modules.Type, i *dsc.Instance) *yamlpos.Node {
	n := &yamlpos.Node{File: i.Properties.File, Line: i.Properties.Line, Column: i.Properties.Column, Kind: yamlpos.Map}
	put := func(key string, value *yamlpos.Node) {
		n.Pairs = append(n.Pairs, yamlpos.Pair{Key: yamlpos.From(i.Node, key), Value: value})
	}
	put(t.Below, i.Properties)
	for _, text := range []struct{ key, value string }{{"version", i.Version}, {"adapter", i.Adapter}, {"security", i.Security}} {
		if text.value != "" {
			put(text.key, yamlpos.From(i.Node, text.value))
		}
	}
	if i.Assert {
		put("assert", yamlpos.From(i.Node, true))
	}
	if i.Metadata != nil {
		put("metadata", yamlpos.From(i.Node, i.Metadata))
	}
	if s := i.Scope; s != nil {
		put("evaluate", yamlpos.From(i.Node, map[string]any{"condition": s.Condition, "values": slices.Clone(s.Values)}))
	}
	return n
}
