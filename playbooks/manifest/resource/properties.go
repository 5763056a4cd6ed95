package resource

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// parts has the values below the name of a resource.
type parts struct {
	props, common *yamlpos.Node          // the properties of the type, and the keys that every type has
	guessed       map[*yamlpos.Node]bool // values in props with a misspelled key: their meaning is uncertain
}

// split parts the properties of the type from the keys that every type has. name is
// the name of the resource; nil if that is not known.
func (rd *Reader) split(t modules.Type, name, body *yamlpos.Node) (p parts, ok bool) {
	if body.Kind != yamlpos.Map {
		rd.Report.Add(body.Errorf("write the properties below the name, one per line, such as key: value", "the properties of %s must be a map, not %s", t.Name, body.Describe()))
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
		case !rd.AdHoc && t.OnlyAdHoc(key) != "" && !mayBeEvent(t, body, rd.Values.IsOpen):
			rd.Report.Add(pair.Key.Errorf(t.OnlyAdHoc(key), "the property %q is allowed only in events and in ad-hoc commands", key))
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

// mayBeEvent reports whether a body has refreshonly, with a value that is true or not known.
func mayBeEvent(t modules.Type, body *yamlpos.Node, open func(*yamlpos.Node) bool) bool {
	n := manifest.GetProperty(t, body, manifest.RefreshOnly)
	return manifest.IsEvent(t, body) || n != nil && open(n)
}

// without returns an empty map at the place of n.
func without(n *yamlpos.Node) *yamlpos.Node {
	empty := *n
	empty.Pairs = nil
	return &empty
}

// guess takes a misspelled property as given, with a value that is not known: it is not
// reported as missing, too.
func (p parts) guess(t modules.Type, written *yamlpos.Node) {
	meant := yamlpos.Suggest(written.Text, manifest.PropertyNames(t))
	if _, foreign := ansible.TaskKeys[written.Text]; foreign {
		return
	}
	if meant == "" || manifest.GetProperty(t, p.props, manifest.CanonicalProperty(t, meant)) != nil {
		return
	}
	key, value := *written, *written
	key.Text, value.Value, value.Computed = meant, nil, false
	p.props.Pairs = append(p.props.Pairs, yamlpos.Pair{Key: &key, Value: &value})
	p.guessed[&value] = true
}

// unknownKey returns the error of a key that a type does not have. It suggests only keys that are valid there.
func (rd *Reader) unknownKey(key *yamlpos.Node, t modules.Type) error {
	edits := 2
	if len(key.Text) <= 5 { // a short word is near too many others: home and name, port and export
		edits = 1
	}
	near := yamlpos.SuggestWithin(key.Text, append(manifest.PropertyNames(t), keys.OfResource...), edits)
	foreign, isForeign := ansible.TaskKeys[key.Text]
	hint := ""
	switch others := rd.typesWith(key.Text); {
	case isForeign && (foreign.Here == "" || t.HasProperty(foreign.Here)):
		hint = foreign.Hint
	case near != "" && (len(others) == 0 && !isForeign || strings.HasPrefix(near, key.Text) || strings.HasPrefix(key.Text, near)):
		hint = `did you mean "` + near + `"?`
	case len(others) > 0: // a word of its own, and not a misspelled one
		hint = strconv.Quote(key.Text) + " is for " + strings.Join(others, ", ")
	case isForeign:
		hint = "the properties of " + t.Name + " are " + strings.Join(manifest.PropertyNames(t), ", ")
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

// checkProperties checks the properties as far as the open ones allow: errors that occur with any value of them are
// reported now, the rest per host. Guessed values count as open.
func (rd *Reader) checkProperties(r *manifest.Resource, guessed map[*yamlpos.Node]bool) {
	before := len(rd.Report.Errors)
	rd.Report.Decode(r.Properties.Node, r.Type.New(), open(r.Properties, guessed))
	p := manifest.PartialSet{PropertySet: r.PropertySet(), NameOpen: r.Name.HasExpressions(), Open: r.Properties.Open}
	rd.Report.Add(p.CheckTexts())
	rd.Report.Add(p.CheckEvent(p.Open))
	reported := broken(r.Properties.Node, rd.Report.Errors[before:])
	p.Open = func(n *yamlpos.Node) bool { return r.Properties.Open(n) || reported[n] || guessed[n] }
	for _, pe := range p.Certain() {
		rd.Report.Add(p.Place(pe))
	}
	rd.Report.Add(r.Taint(nil).CheckPlayFiles())
	rd.checkWarnings(r)
}

// checkWarnings warns of properties that are valid and look like a mistake. A computed part of a text counts as a word
// in it.
func (rd *Reader) checkWarnings(r *manifest.Resource) {
	res := r.Type.New()
	w, ok := res.(modules.Warner)
	if !ok {
		return
	}
	shown := func(v manifest.Value, n *yamlpos.Node) (*yamlpos.Node, error) {
		if v.Open(n) {
			return yamlpos.From(n, templates.WithoutExpressions(n.Text, "x")), nil
		}
		return n, nil
	}
	props, _ := r.Properties.Node.Map(func(n *yamlpos.Node) (*yamlpos.Node, error) { return shown(r.Properties, n) })
	name, _ := shown(r.Name, r.Name.Node)
	_ = yamlpos.Decode(props, res) // decoding errors have been reported, or are not known yet
	modules.SetName(res, name.Text)
	for _, pe := range w.Warnings() {
		rd.Report.Warn(r.PropertySet().At(pe.Path), pe.Path+": "+pe.Msg)
	}
}

// open returns the option that makes decoding skip values that are not known yet.
func open(v manifest.Value, guessed map[*yamlpos.Node]bool) yamlpos.Option {
	return yamlpos.Open(func(n *yamlpos.Node) bool { return v.Open(n) || guessed[n] })
}

// broken finds the nodes that are reported already: nothing follows from them.
func broken(n *yamlpos.Node, errs yamlpos.Errors) map[*yamlpos.Node]bool {
	found := map[*yamlpos.Node]bool{}
	var walk func(*yamlpos.Node)
	walk = func(n *yamlpos.Node) {
		if slices.ContainsFunc(errs, func(e *yamlpos.Error) bool { return e.Line == n.Line && e.Column == n.Column }) {
			found[n] = true
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	for _, pair := range n.Pairs {
		walk(pair.Value)
	}
	return found
}

// gather does the work of [Reader.split] for a type with [modules.Type.Below]: it puts all keys into that one property,
// except keys that every type has. The node of the property has the position of the first key.
func (rd *Reader) gather(p parts, t modules.Type, name, body *yamlpos.Node) {
	below := without(body)
	for _, pair := range body.Pairs {
		switch key := pair.Key.Text; {
		case !rd.Values.LiteralKey(pair.Key):
		case slices.Contains(keys.OfResource, key):
			p.common.Pairs = append(p.common.Pairs, pair)
		case key == "name" && pair.Value == name: // of a map, not a list
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

// member resolves a resource of a type with a family. If its property type names a type that is known by itself, it
// returns that type and the body for it.
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
				rd.Report.Add(value.Errorf("write a map, such as key: value", `"properties" must be a map, not %s`, value.Describe()))
			default:
				inner.Pairs = append(inner.Pairs, value.Pairs...)
			}
		default:
			if !slices.Contains(keys.OfResource, pair.Key.Text) {
				rd.Report.Add(pair.Key.Errorf(`write its properties below the key "properties"`, "%q has no meaning for %s", pair.Key.Text, named.Text))
				continue
			}
			inner.Pairs = append(inner.Pairs, pair)
		}
	}
	return of, &inner
}
