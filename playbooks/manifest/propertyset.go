package manifest

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// A Set is the properties of one resource.
type PropertySet struct {
	Type   modules.Type
	Name   *yamlpos.Node // name of the resource
	Node   *yamlpos.Node // a map of its properties, without the name
	Strict bool          // set for a resource of a strict play
}

// Get returns the value of a property in either spelling; nil if it is not there.
func (s PropertySet) Get(property string) *yamlpos.Node { return GetProperty(s.Type, s.Node, property) }

// GetProperty is [PropertySet.Get] where there need not be a name: of defaults.
func GetProperty(t modules.Type, props *yamlpos.Node, property string) *yamlpos.Node {
	for _, pair := range props.Pairs {
		if CanonicalProperty(t, pair.Key.Text) == property {
			return pair.Value
		}
	}
	return nil
}

// Has reports whether there is a value at a path such as properties.size.
func (s PropertySet) Has(path string) bool {
	top, _, _ := strings.Cut(path, ".")
	node := s.Get(top)
	for rest := strings.TrimPrefix(path, top); node != nil && rest != ""; {
		node, rest = step(node, rest)
	}
	return node != nil
}

// At returns the node of a property path, or the nearest node above it; the last resort is the name of the resource.
func (s PropertySet) At(path string) *yamlpos.Node {
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

// Place converts the property errors in err into errors with the positions of the properties. Other errors get the
// position of the name.
func (s PropertySet) Place(err error) error {
	var errs yamlpos.Errors
	for _, pe := range modules.PropertyErrors(err) {
		at, hint := s.At(pe.Path), pe.Hint
		if key := keyOf(at, pe.Unknown); key != nil {
			at = key
			if s := yamlpos.Suggest(pe.Unknown, pe.Known); s != "" && hint == "" {
				hint = `did you mean "` + s + `"?`
			}
		}
		errs.Add(at.Errorf(hint, "%s", PropertyMessage(pe)))
	}
	return errs.Err()
}

// keyOf returns the key of a member of a map; nil if the map has no member of that name.
func keyOf(n *yamlpos.Node, name string) *yamlpos.Node {
	for _, pair := range n.Pairs {
		if pair.Key.Text == name {
			return pair.Key
		}
	}
	return nil
}

// PropertyMessage returns the message of an error, prefixed with the property unless the message names it.
func PropertyMessage(pe *modules.PropertyError) string {
	property, _ := pathParts(pe.Path)
	if strings.Contains(pe.Msg, property) { // also without a property
		return pe.Msg
	}
	return pe.Path + ": " + pe.Msg
}

// CanonicalProperty returns the first spelling of a property.
func CanonicalProperty(t modules.Type, key string) string {
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

// PropertyNames returns the names of the properties of a type, in all spellings.
func PropertyNames(t modules.Type) []string {
	var names []string
	for _, f := range modules.Fields(t.New()) {
		if f.AdHoc == "" || f.Event != "" {
			names = append(append(names, f.Name), f.Also...)
		}
	}
	return names
}
