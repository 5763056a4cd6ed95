package resource

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// gather is [Reader.split] for a type that has [modules.Type.Below]: all that stands
// beside the keys that every type has goes into the one property for it. The node of that
// has the position of the first.
func (rd *Reader) gather(p parts, t modules.Type, name, body *yamlpos.Node) {
	below := without(body)
	for _, pair := range body.Pairs {
		switch key := pair.Key.Text; {
		case !rd.Values.LiteralKey(pair.Key):
		case slices.Contains(keys.OfResource, key):
			p.common.Pairs = append(p.common.Pairs, pair)
		case key == "name" && pair.Value == name: // of a map that is no list
		default:
			below.Pairs = append(below.Pairs, pair)
		}
	}
	if len(below.Pairs) > 0 {
		key := *below.Pairs[0].Key
		key.Text, key.Value = t.Below, t.Below
		p.props.Pairs = []yamlpos.Pair{{Key: &key, Value: below}}
	}
}

// member gives the type that a resource of one with a family really is, if its property
// type names one that is known by itself, and what then stands below its name.
func (rd *Reader) member(t modules.Type, body *yamlpos.Node) (modules.Type, *yamlpos.Node) {
	if t.Family == nil || body.Kind != yamlpos.Map {
		return t, body
	}
	named := keys.Given(body.Get("type"))
	if named == nil || named.Kind != yamlpos.Scalar || rd.Values.IsOpen(named) {
		return t, body
	}
	of, ok := t.Family(rd.Registry, named.Text)
	if !ok || of.Below != "" {
		return t, body
	}
	inner := *body
	inner.Pairs = nil
	for _, pair := range body.Pairs {
		switch pair.Key.Text {
		case "type":
		case "properties":
			switch value := keys.Given(pair.Value); {
			case value == nil:
			case value.Kind != yamlpos.Map:
				rd.Report.Add(value.Errorf("write a map: key: value", "properties must be a map, not %s", value.Describe()))
			default:
				inner.Pairs = append(inner.Pairs, value.Pairs...)
			}
		default:
			if !slices.Contains(keys.OfResource, pair.Key.Text) {
				rd.Report.Add(pair.Key.Errorf("its properties stand below properties", "%s has no meaning for %s", pair.Key.Text, named.Text))
				continue
			}
			inner.Pairs = append(inner.Pairs, pair)
		}
	}
	return of, &inner
}
