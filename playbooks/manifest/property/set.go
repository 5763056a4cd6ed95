package property

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// A Set is the properties of one resource.
type Set struct {
	Type modules.Type
	Name *yamlpos.Node // what the resource is called
	Node *yamlpos.Node // a map of its properties, without the name
}

// Get gives the value of a property in either spelling; nil if it is not there.
func (s Set) Get(property string) *yamlpos.Node { return Get(s.Type, s.Node, property) }

// Get is [Set.Get] where there need not be a name: of defaults.
func Get(t modules.Type, props *yamlpos.Node, property string) *yamlpos.Node {
	for _, pair := range props.Pairs {
		if Canonical(t, pair.Key.Text) == property {
			return pair.Value
		}
	}
	return nil
}

// Has reports whether something stands at a path such as properties.size.
func (s Set) Has(path string) bool {
	top, _, _ := strings.Cut(path, ".")
	node := s.Get(top)
	for rest := strings.TrimPrefix(path, top); node != nil && rest != ""; {
		node, rest = step(node, rest)
	}
	return node != nil
}

// At gives the node of a property path, or the nearest one above it: in the end the
// name of the resource.
func (s Set) At(path string) *yamlpos.Node {
	property, index := pathParts(path)
	node := s.Get(property)
	switch {
	case node == nil:
		return s.Name
	case index >= 0 && index < len(node.Items):
		return node.Items[index]
	case index < 0:
		return deeper(node, strings.TrimPrefix(path, property))
	}
	return node
}

// Place turns the property errors in err into errors with the positions of the
// properties. Others get that of the name.
func (s Set) Place(err error) error {
	var errs yamlpos.Errors
	for _, pe := range modules.PropertyErrors(err) {
		at, hint := s.At(pe.Path), pe.Hint
		if key := keyOf(at, pe.Unknown); key != nil {
			at = key
			if s := yamlpos.Suggest(pe.Unknown, pe.Known); s != "" && hint == "" {
				hint = "did you mean " + s + "?"
			}
		}
		errs.Add(at.Errorf(hint, "%s", Message(pe)))
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

// Message is what an error says, with the property in front unless it names it.
func Message(pe *modules.PropertyError) string {
	property, _ := pathParts(pe.Path)
	if strings.Contains(pe.Msg, property) { // also without a property
		return pe.Msg
	}
	return pe.Path + ": " + pe.Msg
}

// Canonical gives the first spelling of a property.
func Canonical(t modules.Type, key string) string {
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

// Names gives the names of the properties of a type, in all spellings.
func Names(t modules.Type) []string {
	var names []string
	for _, f := range modules.Fields(t.New()) {
		names = append(append(names, f.Name), f.Also...)
	}
	return names
}
