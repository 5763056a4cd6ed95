package resource

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
)

// parts are what stands below the name of a resource.
type parts struct {
	props, common *yamlpos.Node          // the properties of the type, and the keys that every type has
	guessed       map[*yamlpos.Node]bool // values in props that were misspelled: what they are is not known
}

// split parts the properties of the type from the keys that every type has. name is
// the name of the resource; nil if that is not known.
func (rd *Reader) split(t modules.Type, name, body *yamlpos.Node) (p parts, ok bool) {
	if body.Kind != yamlpos.Map {
		rd.Report.Add(body.Errorf("write the properties below the name, one per line", "the properties of %s must be a map, not %s", t.Name, body.Describe()))
		return p, false
	}
	p = parts{props: without(body), common: without(body), guessed: map[*yamlpos.Node]bool{}}
	if t.Below != "" {
		rd.gather(p, t, name, body)
		return p, true
	}
	var unknown []*yamlpos.Node
	for _, pair := range body.Pairs {
		switch key := pair.Key.Text; {
		case !rd.Values.LiteralKey(pair.Key):
		case key == "name": // as in CCM, the key of the list wins
			if name != nil && pair.Value != name && pair.Value.Text != name.Text {
				rd.Report.Warn(pair.Key, fmt.Sprintf("the name is %s, the key above; this one has no effect", name.Text))
			}
		case keys.Common(t, key):
			p.common.Pairs = append(p.common.Pairs, pair)
		case t.HasProperty(key):
			p.props.Pairs = append(p.props.Pairs, pair)
		default:
			rd.Report.Add(rd.unknownKey(pair.Key, t))
			unknown = append(unknown, pair.Key)
		}
	}
	for _, key := range unknown {
		p.guess(t, key)
	}
	return p, true
}

// without gives a map at the place of n, which is empty.
func without(n *yamlpos.Node) *yamlpos.Node {
	empty := *n
	empty.Pairs = nil
	return &empty
}

// guess takes a misspelled property as given, with a value that is not known: it is not
// reported as missing, too.
func (p parts) guess(t modules.Type, written *yamlpos.Node) {
	meant := yamlpos.Suggest(written.Text, property.Names(t))
	if _, foreign := ansible.TaskKeys[written.Text]; foreign {
		return
	}
	if meant == "" || property.Get(t, p.props, property.Canonical(t, meant)) != nil {
		return
	}
	key, value := *written, *written
	key.Text, value.Value, value.Computed = meant, nil, false
	p.props.Pairs = append(p.props.Pairs, yamlpos.Pair{Key: &key, Value: &value})
	p.guessed[&value] = true
}

// unknownKey is the error of a key that a type does not have. What it says to write
// instead can be written there.
func (rd *Reader) unknownKey(key *yamlpos.Node, t modules.Type) error {
	edits := 2
	if len(key.Text) <= 5 { // a short word is near too many others: home and name, port and export
		edits = 1
	}
	near := yamlpos.SuggestWithin(key.Text, append(property.Names(t), keys.OfResource...), edits)
	foreign, isForeign := ansible.TaskKeys[key.Text]
	hint := ""
	switch others := rd.typesWith(key.Text); {
	case isForeign && (foreign.Here == "" || t.HasProperty(foreign.Here)):
		hint = foreign.Hint
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
func (rd *Reader) typesWith(key string) []string {
	var names []string
	for _, name := range rd.Registry.Names() {
		if t, ok := rd.Registry.Lookup(name); ok && t.HasProperty(key) {
			names = append(names, name)
		}
	}
	return names
}
