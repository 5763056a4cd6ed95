package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// gathered gives the properties of a type that has [modules.Type.Below]: all that
// stands beside the keys that every type has, in the one property for it. The node of
// that has the position of the first.
func (l *loader) gathered(t modules.Type, name, body *yamlpos.Node) (props, common *yamlpos.Node) {
	a, b, c := *body, *body, *body
	props, common = &a, &b
	props.Pairs, common.Pairs, c.Pairs = nil, nil, nil
	for _, pair := range body.Pairs {
		switch key := pair.Key.Text; {
		case !l.literalKey(pair.Key):
		case slices.Contains(keys.OfResource, key):
			common.Pairs = append(common.Pairs, pair)
		case key == "name" && pair.Value == name: // of a map that is no list
		default:
			c.Pairs = append(c.Pairs, pair)
		}
	}
	if len(c.Pairs) > 0 {
		key := *c.Pairs[0].Key
		key.Text, key.Value = t.Below, t.Below
		props.Pairs = []yamlpos.Pair{{Key: &key, Value: &c}}
	}
	return props, common
}

// stood gives the type that a resource of one with a family really is, if its property
// type names one that is known by itself, and what then stands below its name.
func (l *loader) stood(t modules.Type, body *yamlpos.Node) (modules.Type, *yamlpos.Node) {
	if t.Family == nil || body.Kind != yamlpos.Map {
		return t, body
	}
	named := given(body.Get("type"))
	if named == nil || named.Kind != yamlpos.Scalar || l.isOpen(named) {
		return t, body
	}
	of, ok := t.Family(l.registry, named.Text)
	if !ok || of.Below != "" {
		return t, body
	}
	inner := *body
	inner.Pairs = nil
	for _, pair := range body.Pairs {
		switch pair.Key.Text {
		case "type":
		case "properties":
			switch value := given(pair.Value); {
			case value == nil:
			case value.Kind != yamlpos.Map:
				l.add(value.Errorf("write a map: key: value", "properties must be a map, not %s", value.Describe()))
			default:
				inner.Pairs = append(inner.Pairs, value.Pairs...)
			}
		default:
			if !slices.Contains(keys.OfResource, pair.Key.Text) {
				l.add(pair.Key.Errorf("its properties stand below properties", "%s has no meaning for %s", pair.Key.Text, named.Text))
				continue
			}
			inner.Pairs = append(inner.Pairs, pair)
		}
	}
	return of, &inner
}
