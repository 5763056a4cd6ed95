package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// List reads a list of resources. One that a template has written for a host is given up
// at the end of ctx.
func (rd *Reader) List(ctx context.Context, list *yamlpos.Node) []*manifest.Resource {
	var all []*manifest.Resource
	for _, item := range list.Items {
		if rd.Values.Generated() && ctx.Err() != nil {
			rd.Report.Add(list.Errorf("", "reading the resources did not end in time: %v", context.Cause(ctx)))
			return nil
		}
		only, misplaced := rd.onlyType(item)
		switch {
		case rd.todo(item):
		case isBlock(item):
			all = append(all, rd.block(ctx, item)...)
		case len(misplaced) > 0:
			rd.reportBeside(only, misplaced)
			all = append(all, rd.ofType(ctx, only)...)
		case rd.task(item):
		case item.Kind == yamlpos.Map && len(item.Pairs) == 1:
			all = append(all, rd.ofType(ctx, item.Pairs[0])...)
		default:
			rd.Report.Add(item.Errorf("write one resource type per list item: - file: [...]", "a list item must be a map with one resource type"))
			for _, pair := range item.Pairs { // which may be wrong by themselves
				if _, ok := rd.Registry.Lookup(pair.Key.Text); ok {
					all = append(all, rd.ofType(ctx, pair)...)
				}
			}
		}
	}
	return all
}

// todo reports an item that stands for resources that are still to be written.
func (rd *Reader) todo(item *yamlpos.Node) bool {
	if item.Kind != yamlpos.Map || len(item.Pairs) != 1 || item.Pairs[0].Key.Text != "todo" {
		return false
	}
	rd.Report.Add(item.Errorf("replace it with resources, or remove it", "still to be done: %s", item.Pairs[0].Value.Text))
	return true
}

// ofType reads the resources of one type.
func (rd *Reader) ofType(ctx context.Context, item yamlpos.Pair) []*manifest.Resource {
	key, body := item.Key, item.Value
	t, ok := rd.Registry.Lookup(key.Text)
	switch {
	case !rd.Values.LiteralKey(key):
		return nil
	case !ok:
		rd.Report.Add(reference.UnknownType(rd.Registry, key, key.Text))
		return nil
	case body.Kind == yamlpos.Map:
		return rd.named(ctx, t, body)
	}
	return rd.list(ctx, t, key, body)
}

// onlyType finds the only resource type of an item, and keys next to it that belong into its resources. It returns none
// if the item may be an Ansible task.
func (rd *Reader) onlyType(item *yamlpos.Node) (only yamlpos.Pair, misplaced []*yamlpos.Node) {
	certain := false // that it is not a task
	for _, pair := range item.Pairs {
		key := pair.Key.Text
		_, isType := rd.Registry.Lookup(key)
		switch {
		case slices.Contains(keys.OfResource, key):
			misplaced = append(misplaced, pair.Key)
			certain = certain || !slices.Contains(ansible.SharedKeys, key)
		case isType && only.Key == nil:
			only = pair
			certain = certain || pair.Value.Kind == yamlpos.List
		default:
			return only, nil
		}
	}
	if only.Key == nil || !certain {
		return only, nil
	}
	return only, misplaced
}

// reportBeside reports keys next to a type.
func (rd *Reader) reportBeside(only yamlpos.Pair, misplaced []*yamlpos.Node) {
	form := "[NAME: {%s: ...}]"
	if only.Value.Kind == yamlpos.Map {
		form = "{name: NAME, %s: ...}"
	}
	for _, key := range misplaced {
		rd.Report.Add(key.Errorf(fmt.Sprintf("write - %s: "+form, only.Key.Text, key.Text), "%q belongs inside the resource, not on the level of %q", key.Text, only.Key.Text))
	}
}

// task reports an item that is an Ansible task: a module, and keys next to it that a list of resources does not have.
func (rd *Reader) task(item *yamlpos.Node) bool {
	if item.Kind != yamlpos.Map || len(item.Pairs) < 2 {
		return false
	}
	at := slices.IndexFunc(item.Pairs, func(p yamlpos.Pair) bool {
		_, ok := ansible.Find(p.Key.Text)
		return ok
	})
	others := func(p yamlpos.Pair) bool {
		_, foreign := ansible.TaskKeys[p.Key.Text]
		return foreign || p.Key.Text == "name" || slices.Contains(keys.OfResource, p.Key.Text)
	}
	if at < 0 || !slices.ContainsFunc(item.Pairs, others) {
		return false
	}
	key := item.Pairs[at].Key
	module, _ := ansible.Find(key.Text)
	rd.Report.Add(key.Errorf(module.Hint(), "this is a task of Ansible: %s", key.Text))
	return true
}

// named reads the form in which the name is a property.
func (rd *Reader) named(ctx context.Context, t modules.Type, body *yamlpos.Node) []*manifest.Resource {
	name := keys.Given(body.Get("name"))
	switch {
	case name == nil && len(body.Pairs) > 0 && mapsOnly(body):
		rd.Report.Add(body.Errorf("put a dash before each name: - "+body.Pairs[0].Key.Text+": {...}", "the resources of type %s must be a list", t.Name))
		return nil
	case name == nil:
		rd.Report.Add(body.Errorf("", "name is required"))
		return nil
	case name.Kind != yamlpos.Scalar:
		rd.Report.Add(name.Errorf("", `"name" must be a single value, not %s`, name.Describe()))
		return nil
	}
	defaults := rd.ofPlay(t)
	r := rd.one(ctx, t, name, withPlay(t, yamlpos.Pair{Key: name, Value: body}, defaults))
	r.Defaults = defaults
	return []*manifest.Resource{r}
}

// mapsOnly reports whether every value of a map is one itself, or null.
func mapsOnly(n *yamlpos.Node) bool {
	return !slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return p.Value.Kind != yamlpos.Map && keys.Given(p.Value) != nil })
}

// list reads the form of single-key maps, in which the key is the name.
func (rd *Reader) list(ctx context.Context, t modules.Type, key, body *yamlpos.Node) []*manifest.Resource {
	if body.Kind != yamlpos.List {
		rd.Report.Add(key.Errorf("write a list: - NAME: {...}", "%q has no resources", key.Text))
		return nil
	}
	var entries []yamlpos.Pair
	var defaults *yamlpos.Node
	before := len(rd.Report.Errors)
	for _, item := range body.Items {
		for _, entry := range rd.entries(ctx, t, item) {
			switch {
			case entry.Key.Text != "defaults":
				entries = append(entries, entry)
			case defaults != nil:
				rd.Report.Add(item.Errorf("", "multiple defaults found in %s resource", t.Name))
			default:
				defaults = entry.Value
			}
		}
	}
	if len(entries) == 0 && len(rd.Report.Errors) == before {
		rd.Report.Add(key.Errorf("write a list: - NAME: {...}", "%q has no resources", key.Text))
	}
	if keys.Given(defaults) != nil && defaults.Kind != yamlpos.Map {
		rd.Report.Add(defaults.Errorf("write properties: - defaults: {owner: root}", `"defaults" must be a map, not %s`, defaults.Describe()))
		defaults = nil
	}
	rd.checkDefaults(ctx, t, defaults)
	ofPlay := rd.ofPlay(t)
	both := defaults
	switch {
	case ofPlay != nil && keys.Given(defaults) != nil:
		both = without(defaults)
		both.Pairs = slices.Concat(defaults.Pairs, ofPlay.Pairs)
	case ofPlay != nil:
		both = ofPlay
	}
	var all []*manifest.Resource
	for _, entry := range entries {
		body := withDefaults(t, entry, defaults)
		r := rd.one(ctx, t, entry.Key, withPlay(t, yamlpos.Pair{Key: entry.Key, Value: body}, ofPlay))
		r.Defaults = both
		all = append(all, r)
	}
	return all
}

// entries returns the names of an item of a list, with the properties below each. It should be one name. For other
// forms it reports an error and returns their likely meaning, so that their other errors are reported, too.
func (rd *Reader) entries(ctx context.Context, t modules.Type, item *yamlpos.Node) []yamlpos.Pair {
	if item.Kind != yamlpos.Map {
		hint := "write - NAME: {...}"
		if item.Kind == yamlpos.Scalar && item.Text != "" && !strings.ContainsAny(item.Text, "\n\"{:#") {
			hint = "write - " + item.Text + ": {}"
		}
		rd.Report.Add(item.Errorf(hint, "%s is not a map with a name and properties", item.Describe()))
		return nil
	}
	if len(item.Pairs) == 0 {
		rd.Report.Add(item.Errorf("write - NAME: {...}", "this %s resource has no name", t.Name))
		return nil
	}
	first := item.Pairs[0]
	rest := *item
	rest.Pairs = item.Pairs[1:]
	switch {
	case first.Key.Text == "name" && (len(item.Pairs) > 1 || first.Value.Kind == yamlpos.Scalar):
		rd.Report.Add(item.Errorf("the key is the name: - "+first.Value.Text+": {...}", `"name" is not a property where the resources of %s are a list`, t.Name))
		return []yamlpos.Pair{{Key: first.Value, Value: &rest}}
	case keys.Given(first.Value) != nil && first.Value.Kind != yamlpos.Map && isPropertyKey(t, first.Key.Text):
		rd.Report.Add(item.Errorf("the name comes first, and its properties below it: - NAME: {"+first.Key.Text+": ...}", "this %s resource has no name", t.Name))
		rd.checkDefaults(ctx, t, item)
		return nil
	case len(item.Pairs) == 1:
		return item.Pairs
	}
	rd.Report.Add(item.Errorf("start each resource with its own dash, and indent its properties below its name",
		"multiple resource names found in %s resource", t.Name))
	if mapsOnly(&rest) && !isPropertyKey(t, rest.Pairs[0].Key.Text) {
		return item.Pairs
	}
	return []yamlpos.Pair{{Key: first.Key, Value: &rest}}
}

// isPropertyKey reports whether a key is a property of the type, here or in Ansible, or
// one that every type has.
func isPropertyKey(t modules.Type, key string) bool {
	_, foreign := ansible.TaskKeys[key]
	return foreign || keys.Common(t, key) || t.HasProperty(key)
}

// checkDefaults looks at defaults by themselves: an entry may not need them.
func (rd *Reader) checkDefaults(ctx context.Context, t modules.Type, defaults *yamlpos.Node) {
	if keys.Given(defaults) == nil {
		return
	}
	p, _ := rd.split(t, nil, defaults)
	rd.Report.Decode(p.props, t.New(), open(rd.Values.Value(p.props), p.guessed))
	rd.Report.Decode(p.common, &keys.Resource{}, open(rd.Values.Value(p.common), nil))
	rd.watch(t, p.common.Get("watch"), rd.Values.IsOpen)
	rd.healthChecks(rd.healthValue(ctx, p.common))
	rd.registrations(p.common)
}

// withDefaults merges the properties of an entry over the defaults of its list. Each property is replaced as a whole;
// null counts as not set.
func withDefaults(t modules.Type, entry yamlpos.Pair, defaults *yamlpos.Node) *yamlpos.Node {
	body := entry.Value
	if keys.Given(body) == nil { // "/etc/b:" alone
		body = &yamlpos.Node{File: entry.Key.File, Line: entry.Key.Line, Column: entry.Key.Column, Kind: yamlpos.Map}
	}
	if defaults == nil || body.Kind != yamlpos.Map {
		return body
	}
	merged := *body
	merged.Pairs = slices.DeleteFunc(slices.Clone(body.Pairs), func(pair yamlpos.Pair) bool {
		return keys.Given(pair.Value) == nil && manifest.GetProperty(t, defaults, manifest.CanonicalProperty(t, pair.Key.Text)) != nil
	})
	event := manifest.IsEvent(t, body)
	for _, pair := range defaults.Pairs {
		if event && manifest.NotOfEvent(t, pair.Key.Text) {
			continue
		}
		if manifest.GetProperty(t, &merged, manifest.CanonicalProperty(t, pair.Key.Text)) == nil {
			merged.Pairs = append(merged.Pairs, pair)
		}
	}
	return &merged
}
