package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
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
		case slices.Contains(commonNames, key):
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
			if !slices.Contains(commonNames, pair.Key.Text) {
				l.add(pair.Key.Errorf("its properties stand below properties", "%s has no meaning for %s", pair.Key.Text, named.Text))
				continue
			}
			inner.Pairs = append(inner.Pairs, pair)
		}
	}
	return of, &inner
}

// deeper follows the rest of a property path, behind the property itself, as far as
// there is something: ".user.name[2]".
func deeper(n *yamlpos.Node, rest string) *yamlpos.Node {
	for rest != "" {
		next, after := step(n, rest)
		if next == nil {
			return n
		}
		n, rest = next, after
	}
	return n
}

// step follows one part of a path. Keys may have dots and brackets themselves: the
// longest one that fits is taken.
func step(n *yamlpos.Node, rest string) (next *yamlpos.Node, after string) {
	if rest[0] == '[' {
		digits, after, closed := strings.Cut(rest[1:], "]")
		for i := range n.Items {
			if closed && digits == strconv.Itoa(i) {
				return n.Items[i], after
			}
		}
		return nil, ""
	}
	rest = rest[1:]
	longest := -1
	for i, pair := range n.Pairs {
		key := pair.Key.Text
		tail, ok := strings.CutPrefix(rest, key)
		if ok && (tail == "" || tail[0] == '.' || tail[0] == '[' || tail[0] == ' ') && (longest < 0 || len(key) > len(n.Pairs[longest].Key.Text)) {
			longest, after = i, tail
		}
	}
	if longest < 0 {
		return nil, ""
	}
	return n.Pairs[longest].Value, after
}

// givenBelow reports whether something stands at a path such as properties.size.
func givenBelow(r *Resource, path string) bool {
	top, _, _ := strings.Cut(path, ".")
	node := propertyNode(r.Type, r.Properties.Node, top)
	for rest := strings.TrimPrefix(path, top); node != nil && rest != ""; {
		node, rest = step(node, rest)
	}
	return node != nil
}
