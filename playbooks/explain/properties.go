package explain

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// longestExpression bounds a shown expression, in bytes.
const longestExpression = 200

// properties returns the origins of a resource's properties.
func (x *explainer) properties(one *catalog.RenderedResource) ([]Property, error) {
	given, err := one.Given()
	if err != nil {
		return nil, err
	}
	all := []Property{}
	for i := range given {
		p := &given[i]
		property := Property{Name: p.Name, Value: p.Value, Withheld: p.Withheld, From: "type", Expression: p.Expression(longestExpression)}
		if p.At != nil {
			property.From, property.At = "written", p.At.Pos()
		}
		if p.Written != nil {
			if isDefault(one, p.Written) {
				property.From = "defaults"
			}
			reads := tracer{x, one, map[string]bool{}}
			property.Inputs = reads.inputs(one.Resource.Properties.InputsOf(p.Written, one.Env.Files), p.Withheld)
		}
		all = append(all, property)
	}
	for _, r := range one.Entry.Receive {
		from := r.Sender
		if r.From >= 0 {
			from = x.rendered.Resources[r.From].Entry.Ref()
		}
		all = append(all, Property{Name: r.Property, From: "received", Expression: r.Key + " of " + from})
	}
	return all, nil
}

// isDefault reports whether a property comes from the defaults of its list.
func isDefault(one *catalog.RenderedResource, written *yamlpos.Node) bool {
	if one.Resource.Defaults == nil {
		return false
	}
	for _, pair := range one.Resource.Defaults.Pairs {
		if pair.Value == written {
			return true
		}
	}
	return false
}
