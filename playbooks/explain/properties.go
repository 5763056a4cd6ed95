package explain

import (
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/templates"
)

// longestExpression is how long an expression may be that is shown, in bytes.
const longestExpression = 200

// properties says where what a resource was given is from.
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
			property.Inputs = x.inputs(one, one.Resource.Properties.InputsOf(p.Written, one.Env.Files), p.Withheld)
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

// isDefault reports whether a property stands in the defaults of its list.
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

// inputs says what an expression of a resource can read, and where that is from.
func (x *explainer) inputs(one *catalog.RenderedResource, in templates.Inputs, withheld bool) []Input {
	var all []Input
	for _, name := range in.Templates() {
		all = append(all, Input{Kind: "template", Name: name})
	}
	if in.Item() {
		all = append(all, Input{Kind: "item", Name: "Item", Value: one.Env.Item, Withheld: withheld || withheldItem(one)})
	}
	paths, anything := in.Data()
	if anything {
		all = append(all, Input{Kind: "data", Name: "Data", Whole: true})
	}
	for _, path := range paths {
		keys := strings.Split(path, ".")
		input := Input{Kind: "data", Name: "Data." + path}
		var found bool
		if input.Value, found = value(one.Env.Data, keys); !found {
			input.Missing = true
		}
		input.Withheld = withheld || maySecret(path, input.Value) || one.Secrets.ReadBy([]string{path}, false)
		for _, o := range templates.Origins(one.Layers, keys) {
			origin := Origin{Layer: o.Layer}
			if o.Node != nil {
				origin.At = o.Node.Pos()
			}
			input.From = append(input.From, origin)
		}
		all = append(all, input)
	}
	paths, anything = in.Facts()
	if anything {
		all = append(all, Input{Kind: "fact", Name: "Facts", Whole: true})
	}
	for _, path := range paths {
		keys := strings.Split(path, ".")
		input := Input{Kind: "fact", Name: "Facts." + path, From: []Origin{{Layer: "facts of " + x.host}}}
		if _, given := value(x.rendered.Given, keys); given {
			input.From[0].Layer = "--facts or --fact"
		}
		var found bool
		if input.Value, found = value(one.Env.Facts, keys); !found {
			input.Missing, input.From = true, nil
		}
		input.Withheld = withheld || maySecret(path, input.Value)
		all = append(all, input)
	}
	for i := range all {
		if all[i].Withheld {
			all[i].Value = nil
		}
	}
	return all
}

// withheldItem reports whether the element of an each is not shown.
func withheldItem(one *catalog.RenderedResource) bool {
	return one.Entry.Sensitive || !one.Item.None() || maySecret("", one.Env.Item)
}

// maySecret reports whether the name of a value, or a name in it, is that of a secret.
func maySecret(name string, v any) bool {
	text, err := printable.JSON(v)
	return err != nil || printable.MaySecret(name) || printable.MaySecret(string(text))
}

// value gives what lies at keys below a map; keys of lists are indexes.
func value(in map[string]any, keys []string) (v any, found bool) {
	v = in
	for _, key := range keys {
		switch below := v.(type) {
		case map[string]any:
			if v, found = below[key]; !found {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(below) {
				return nil, false
			}
			v = below[i]
		default:
			return nil, false
		}
	}
	return v, in != nil
}
