package manifest

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/templates"
)

// A Resource is one entry of a manifest. With Each it stands for one resource
// per element.
type Resource struct {
	Type       modules.Type
	Name       Value
	Alias      *Value          // nil if it has none
	Require    *Value          // a list of references, type#name or type#alias; nil if not given
	Subscribe  *Value          // the same
	Before     *Value          // the same, of what comes later
	Notify     *Value          // the same
	Meta       *Value          // a map of the keys that come to a [Meta]; nil if none is given
	Recv       *Value          // a map of properties to what sends them on this host: type#name.key; nil if none is received
	If, Unless *templates.Expr // of control; nil if not given
	Each       *Value          // a list; nil if it is a single resource
	Noop       *Value          // a boolean
	Sensitive  *Value          // a boolean
	Health     *Value          // a list of health checks; nil if it has none
	Query      string          // what it is asked instead of being checked and applied, ad hoc; "" usually
	Tags       []string
	Imports    []Import        // what it receives from other hosts
	Exports    []*yamlpos.Node // the keys of what it gives to other hosts: literal texts
	Unselected bool            // the run is not about it: see [Selection]
	Properties Value           // a map of the type's own properties, without the name
	// Child is the manifest that the resource applies; nil if it applies none, or one
	// that is known only per host. See [Play.Nested].
	Child *Play
	// OnlyWithin says that the resource itself is not selected, only what it applies.
	OnlyWithin bool

	manifest    string  // what it applies, as written
	known       *nested // as that was read
	conditional bool    // it stands in a manifest that not every host applies
}

// Ref is how the manifest calls the resource.
func (r *Resource) Ref() string { return r.Type.Name + "#" + r.Name.Node.Text }

// DependsOnHost reports whether the resource's names are known only per host.
func (r *Resource) DependsOnHost() bool {
	return r.Each != nil || r.Name.HasExpressions() || r.Alias != nil && r.Alias.HasExpressions()
}

// values lists the parts that may hold expressions; those not given are nil.
func (r *Resource) values() []*Value {
	return []*Value{&r.Name, r.Alias, r.Require, r.Subscribe, r.Before, r.Notify, r.Meta, r.Recv, r.Each, r.Noop, r.Sensitive, r.Health, &r.Properties}
}

// resources reads the list of a manifest and checks the references in it.
func (l *loader) resources(list *yamlpos.Node) []*Resource {
	var all []*Resource
	for _, item := range list.Items {
		if l.ctx != nil && l.ctx.Err() != nil {
			l.add(list.Errorf("", "reading the resources did not end in time: %v", context.Cause(l.ctx)))
			return nil
		}
		switch {
		case l.task(item):
		case item.Kind == yamlpos.Map && len(item.Pairs) == 1:
			all = append(all, l.ofType(item.Pairs[0])...)
		default:
			l.add(item.Errorf("write one resource type per list item: - file: [...]", "a list item must be a map with one resource type"))
			for _, pair := range item.Pairs { // which may be wrong by themselves
				if _, ok := l.registry.Lookup(pair.Key.Text); ok {
					all = append(all, l.ofType(pair)...)
				}
			}
		}
	}
	if !l.isNested { // what a nested one refers to may stand in those that apply it
		l.expand(all)
		l.references(all)
	}
	return all
}

// ofType reads the resources of one type.
func (l *loader) ofType(item yamlpos.Pair) []*Resource {
	key, body := item.Key, item.Value
	t, ok := l.registry.Lookup(key.Text)
	switch {
	case !l.literalKey(key):
		return nil
	case !ok:
		l.add(l.unknownType(key, key.Text))
		return nil
	case body.Kind == yamlpos.Map:
		return l.named(t, body)
	}
	return l.list(t, key, body)
}

// task reports an item that is a task of Ansible: a module, and beside it keys that a list
// of resources does not have.
func (l *loader) task(item *yamlpos.Node) bool {
	if item.Kind != yamlpos.Map || len(item.Pairs) < 2 {
		return false
	}
	at := slices.IndexFunc(item.Pairs, func(p yamlpos.Pair) bool {
		_, ok := ansible.Find(p.Key.Text)
		return ok
	})
	others := func(p yamlpos.Pair) bool {
		_, foreign := foreignResourceKeys[p.Key.Text]
		return foreign || p.Key.Text == "name" || slices.Contains(keys.OfResource, p.Key.Text)
	}
	if at < 0 || !slices.ContainsFunc(item.Pairs, others) {
		return false
	}
	key := item.Pairs[at].Key
	module, _ := ansible.Find(key.Text)
	l.add(key.Errorf(module.Hint(), "this is a task of Ansible: %s", key.Text))
	return true
}

func (l *loader) unknownType(n *yamlpos.Node, name string) error {
	return reference.UnknownType(l.registry, n, name)
}

// named reads the form in which the name is a property.
func (l *loader) named(t modules.Type, body *yamlpos.Node) []*Resource {
	name := given(body.Get("name"))
	switch {
	case name == nil && len(body.Pairs) > 0 && mapsOnly(body):
		l.add(body.Errorf("put a dash before each name: - "+body.Pairs[0].Key.Text+": {...}", "the resources of %s must be a list", t.Name))
		return nil
	case name == nil:
		l.add(body.Errorf("", "name is required"))
		return nil
	case name.Kind != yamlpos.Scalar:
		l.add(name.Errorf("", "name must be a single value, not %s", name.Describe()))
		return nil
	}
	return []*Resource{l.resource(t, name, body)}
}

// mapsOnly reports whether every value of a map is one itself, or null.
func mapsOnly(n *yamlpos.Node) bool {
	return !slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return p.Value.Kind != yamlpos.Map && given(p.Value) != nil })
}

// list reads the form of single-key maps, in which the key is the name.
func (l *loader) list(t modules.Type, key, body *yamlpos.Node) []*Resource {
	if body.Kind != yamlpos.List {
		l.add(key.Errorf("write a list: - NAME: {...}", "%s has no resources", key.Text))
		return nil
	}
	var entries []yamlpos.Pair
	var defaults *yamlpos.Node
	before := len(l.errs)
	for _, item := range body.Items {
		for _, entry := range l.entries(t, item) {
			switch {
			case entry.Key.Text != "defaults":
				entries = append(entries, entry)
			case defaults != nil:
				l.add(item.Errorf("", "multiple defaults found in %s resource", t.Name))
			default:
				defaults = entry.Value
			}
		}
	}
	if len(entries) == 0 && len(l.errs) == before {
		l.add(key.Errorf("write a list: - NAME: {...}", "%s has no resources", key.Text))
	}
	if given(defaults) != nil && defaults.Kind != yamlpos.Map {
		l.add(defaults.Errorf("write properties: - defaults: {owner: root}", "defaults must be a map, not %s", defaults.Describe()))
		defaults = nil
	}
	l.checkDefaults(t, defaults)
	var all []*Resource
	for _, entry := range entries {
		all = append(all, l.resource(t, entry.Key, withDefaults(t, entry, defaults)))
	}
	return all
}

// entries gives the names of an item of a list, with the properties below each. It
// should be one name; of others the form is reported, and what they seem to mean is
// given, so that all else that is wrong with them is reported too.
func (l *loader) entries(t modules.Type, item *yamlpos.Node) []yamlpos.Pair {
	if item.Kind != yamlpos.Map {
		l.add(item.Errorf("write - NAME: {...}", "%s is no map with a name and properties", item.Describe()))
		return nil
	}
	if len(item.Pairs) == 0 {
		l.add(item.Errorf("write - NAME: {...}", "this %s resource has no name", t.Name))
		return nil
	}
	first := item.Pairs[0]
	rest := *item
	rest.Pairs = item.Pairs[1:]
	switch {
	case first.Key.Text == "name" && (len(item.Pairs) > 1 || first.Value.Kind == yamlpos.Scalar):
		l.add(item.Errorf("the key is the name: - "+first.Value.Text+": {...}", "name is no property where the resources of %s are a list", t.Name))
		return []yamlpos.Pair{{Key: first.Value, Value: &rest}}
	case given(first.Value) != nil && first.Value.Kind != yamlpos.Map && isPropertyKey(t, first.Key.Text):
		l.add(item.Errorf("the name comes first, and its properties below it: - NAME: {"+first.Key.Text+": ...}", "this %s resource has no name", t.Name))
		l.checkDefaults(t, item)
		return nil
	case len(item.Pairs) == 1:
		return item.Pairs
	}
	l.add(item.Errorf("start each resource with its own dash, and indent its properties below its name",
		"multiple resource names found in %s resource", t.Name))
	if mapsOnly(&rest) && !isPropertyKey(t, rest.Pairs[0].Key.Text) {
		return item.Pairs
	}
	return []yamlpos.Pair{{Key: first.Key, Value: &rest}}
}

// isPropertyKey reports whether a key is a property of the type, here or in Ansible, or
// one that every type has.
func isPropertyKey(t modules.Type, key string) bool {
	_, foreign := foreignResourceKeys[key]
	return foreign || keys.Common(t, key) || t.HasProperty(key)
}

// checkDefaults looks at defaults by themselves: an entry may not need them.
func (l *loader) checkDefaults(t modules.Type, defaults *yamlpos.Node) {
	if given(defaults) == nil {
		return
	}
	props, common, _ := l.split(t, nil, defaults)
	for _, part := range []struct {
		node *yamlpos.Node
		into any
	}{{props, t.New()}, {common, &keys.Resource{}}} {
		v := l.value(part.node)
		l.decode(part.node, part.into, l.open(v))
	}
}

// withDefaults lays the properties of an entry over those of its list. Each
// property is replaced whole; one that is null is not given.
func withDefaults(t modules.Type, entry yamlpos.Pair, defaults *yamlpos.Node) *yamlpos.Node {
	body := entry.Value
	if given(body) == nil { // "/etc/b:" alone
		body = &yamlpos.Node{File: entry.Key.File, Line: entry.Key.Line, Column: entry.Key.Column, Kind: yamlpos.Map}
	}
	if defaults == nil || body.Kind != yamlpos.Map {
		return body
	}
	merged := *body
	merged.Pairs = slices.DeleteFunc(slices.Clone(body.Pairs), func(pair yamlpos.Pair) bool {
		return given(pair.Value) == nil && property.Get(t, defaults, property.Canonical(t, pair.Key.Text)) != nil
	})
	for _, pair := range defaults.Pairs {
		if property.Get(t, &merged, property.Canonical(t, pair.Key.Text)) == nil {
			merged.Pairs = append(merged.Pairs, pair)
		}
	}
	return &merged
}

// resource reads one resource.
func (l *loader) resource(t modules.Type, name, body *yamlpos.Node) *Resource {
	t, body = l.stood(t, body)
	r := &Resource{Type: t, Name: l.value(name)}
	props, common, ok := l.split(t, name, body)
	if !ok {
		r.Properties = l.value(&yamlpos.Node{Kind: yamlpos.Map}) // reported; there is nothing more to say
		return r
	}
	r.Properties = l.properties(props)
	l.common(r, common)
	l.checkReceiving(r)
	l.inner(r)
	return r
}
