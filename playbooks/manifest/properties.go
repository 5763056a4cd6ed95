package manifest

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
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
		case keys.Common(t, key):
			common.Pairs = append(common.Pairs, pair)
		case t.HasProperty(key):
			props.Pairs = append(props.Pairs, pair)
		default:
			l.add(l.unknownKey(pair.Key, t))
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
	meant := yamlpos.Suggest(written.Text, property.Names(t))
	if _, foreign := foreignResourceKeys[written.Text]; foreign {
		return
	}
	if meant == "" || property.Get(t, props, property.Canonical(t, meant)) != nil {
		return
	}
	key, value := *written, *written
	key.Text, value.Value, value.Computed = meant, nil, false
	props.Pairs = append(props.Pairs, yamlpos.Pair{Key: &key, Value: &value})
	l.guessed[&value] = true
}

// unknownKey is the error of a key that a type does not have. What it says to write
// instead can be written there.
func (l *loader) unknownKey(key *yamlpos.Node, t modules.Type) error {
	edits := 2
	if len(key.Text) <= 5 { // a short word is near too many others: home and name, port and export
		edits = 1
	}
	near := yamlpos.SuggestWithin(key.Text, append(property.Names(t), keys.OfResource...), edits)
	foreign, isForeign := foreignResourceKeys[key.Text]
	hint := ""
	switch others := l.typesWith(key.Text); {
	case isForeign && (foreign.here == "" || t.HasProperty(foreign.here)):
		hint = foreign.hint
	case near != "" && (len(others) == 0 && !isForeign || strings.HasPrefix(near, key.Text) || strings.HasPrefix(key.Text, near)):
		hint = "did you mean " + near + "?"
	case len(others) > 0: // a word of its own, and not a misspelled one
		hint = key.Text + " is for " + strings.Join(others, ", ")
	case isForeign:
		hint = "the properties of " + t.Name + " are " + strings.Join(property.Names(t), ", ")
	}
	return key.Errorf(hint, "type %s has no property %q", t.Name, key.Text)
}

// typesWith names the types that have a property.
func (l *loader) typesWith(key string) []string {
	var names []string
	for _, name := range l.registry.Names() {
		if t, ok := l.registry.Lookup(name); ok && t.HasProperty(key) {
			names = append(names, name)
		}
	}
	return names
}

// properties are those of the resource, as they are written.
func (r *Resource) properties() property.Set {
	return property.Set{Type: r.Type, Name: r.Name.Node, Node: r.Properties.Node}
}

// Positioned turns the property errors of a resource into errors with the
// positions of the properties in props.
func Positioned(r *Resource, props *yamlpos.Node, err error) error {
	return property.Set{Type: r.Type, Name: r.Name.Node, Node: props}.Place(err)
}
