package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// split parts the properties of the type from the keys all types have. name is
// what the resource is called; nil if that is not known.
func (l *loader) split(t modules.Type, name, body *yamlpos.Node) (props, common *yamlpos.Node, ok bool) {
	if body.Kind != yamlpos.Map {
		l.add(body.Errorf("write the properties below the name, one per line", "the properties of %s must be a map, not %s", t.Name, body.Describe()))
		return nil, nil, false
	}
	if t.Below != "" {
		props, common = l.gathered(t, name, body)
		return props, common, true
	}
	a, b := *body, *body
	props, common = &a, &b
	props.Pairs, common.Pairs = nil, nil
	var unknown []*yamlpos.Node
	for _, pair := range body.Pairs {
		switch key := pair.Key.Text; {
		case !l.literalKey(pair.Key):
		case key == "name": // as in CCM, the key of the list wins
			if name != nil && pair.Value != name && pair.Value.Text != name.Text {
				l.warn(pair.Key, fmt.Sprintf("the name is %s, the key above; this one has no effect", name.Text))
			}
		case isCommon(t, key):
			common.Pairs = append(common.Pairs, pair)
		case isProperty(t, key):
			props.Pairs = append(props.Pairs, pair)
		default:
			l.add(unknownKey(pair.Key, t))
			unknown = append(unknown, pair.Key)
		}
	}
	for _, key := range unknown {
		l.guess(t, props, key)
	}
	return props, common, true
}

// guess takes a misspelled property as given with a value not known, so that
// nobody is told that it is missing.
func (l *loader) guess(t modules.Type, props, written *yamlpos.Node) {
	meant := yamlpos.Suggest(written.Text, propertyNames(t))
	if _, foreign := foreignResourceKeys[written.Text]; foreign {
		return
	}
	if meant == "" || propertyNode(t, props, canonical(t, meant)) != nil {
		return
	}
	key, value := *written, *written
	key.Text, value.Value, value.Computed = meant, nil, false
	props.Pairs = append(props.Pairs, yamlpos.Pair{Key: &key, Value: &value})
	l.guessed[&value] = true
}

// canonical gives the first spelling of a property.
func canonical(t modules.Type, key string) string {
	if t.Below != "" && key != t.Below {
		return t.Below + "." + key
	}
	for _, f := range modules.Fields(t.New()) {
		if slices.Contains(f.Also, key) {
			return f.Name
		}
	}
	return key
}

func propertyNames(t modules.Type) []string {
	var names []string
	for _, f := range modules.Fields(t.New()) {
		names = append(append(names, f.Name), f.Also...)
	}
	return names
}

func unknownKey(key *yamlpos.Node, t modules.Type) error {
	hint, foreign := foreignResourceKeys[key.Text]
	if foreign {
		return key.Errorf(hint, "type %s has no property %q", t.Name, key.Text)
	}
	if s := yamlpos.Suggest(key.Text, append(propertyNames(t), commonNames...)); s != "" {
		hint = "did you mean " + s + "?"
	}
	return key.Errorf(hint, "type %s has no property %q", t.Name, key.Text)
}

// Positioned turns the property errors of a resource into errors with the
// positions of the properties in props.
func Positioned(r *Resource, props *yamlpos.Node, err error) error {
	var errs yamlpos.Errors
	for _, pe := range modules.PropertyErrors(err) {
		at, hint := find(r, props, pe.Path), pe.Hint
		if key := keyOf(at, pe.Unknown); key != nil {
			at = key
			if s := yamlpos.Suggest(pe.Unknown, pe.Known); s != "" && hint == "" {
				hint = "did you mean " + s + "?"
			}
		}
		errs.Add(at.Errorf(hint, "%s", described(pe)))
	}
	return errs.Err()
}

// keyOf gives the key of a member of a map; nil if it has none of that name.
func keyOf(n *yamlpos.Node, name string) *yamlpos.Node {
	for _, pair := range n.Pairs {
		if pair.Key.Text == name {
			return pair.Key
		}
	}
	return nil
}

// described is the message, with the property in front unless it names it.
func described(pe *modules.PropertyError) string {
	property, _ := pathParts(pe.Path)
	if strings.Contains(pe.Msg, property) { // also without a property
		return pe.Msg
	}
	return pe.Path + ": " + pe.Msg
}

// find gives the node of a property path, or the nearest one above it.
func find(r *Resource, props *yamlpos.Node, path string) *yamlpos.Node {
	property, index := pathParts(path)
	node := propertyNode(r.Type, props, property)
	switch {
	case node == nil:
		return r.Name.Node
	case index >= 0 && index < len(node.Items):
		return node.Items[index]
	case index < 0:
		return deeper(node, strings.TrimPrefix(path, property))
	}
	return node
}

// propertyNode gives the value of a property in either spelling; nil if it is
// not there.
func propertyNode(t modules.Type, props *yamlpos.Node, property string) *yamlpos.Node {
	for _, pair := range props.Pairs {
		if canonical(t, pair.Key.Text) == property {
			return pair.Value
		}
	}
	return nil
}

// pathParts gives the property of a path such as "environment[2]" and the index
// below it; -1 if it has none.
func pathParts(path string) (property string, index int) {
	path, _, _ = strings.Cut(path, ".")
	property, rest, ok := strings.Cut(path, "[")
	digits, closed := strings.CutSuffix(rest, "]")
	i, err := strconv.Atoi(digits)
	if !ok || !closed || err != nil {
		return property, -1
	}
	return property, i
}

func isProperty(t modules.Type, key string) bool { return slices.Contains(propertyNames(t), key) }
