package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/templates"
)

// references has the references of one entry that are not resolved in it yet.
type references struct {
	lists    []refList    // resolved once all entries are there
	received []receiving  // likewise
	resolved []graph.Edge // resolved references, shown to people; To is not set
}

// A refList is one key of a resource, such as require or before, with its references.
type refList struct {
	order reference.Order
	refs  []*yamlpos.Node
}

// A receiving is a property whose value comes from another resource of the host.
type receiving struct {
	property string
	at       *yamlpos.Node // as it is written
}

// refer evaluates the references of a resource. In written order, references that can only lead back are resolved into
// e at once.
func (x *expansion) refer(ctx context.Context, r *manifest.Resource, env *templates.Env, e *wire.Entry) (*references, error) {
	var errs yamlpos.Errors
	var open references
	for _, list := range r.OrderLists() {
		if list.Value == nil {
			continue
		}
		refs, err := refTexts(ctx, list.Value, env)
		errs.Add(err)
		if list.Mirror || x.inGraph {
			open.lists = append(open.lists, refList{list.Order, refs})
			continue
		}
		into := &e.Require
		if list.Kind == graph.Subscribe {
			into = &e.Subscribe
		}
		for _, ref := range refs {
			entries, err := x.draft.names.find(ref)
			if err == nil && len(entries) > 0 {
				err = checkRefresh(x.compiler.play, list.Order, ref, e.Type, x.draft.entries[entries[0]].Type)
			}
			errs.Add(err)
			*into = append(*into, entries...)
			for _, from := range entries {
				if x.show {
					open.resolved = append(open.resolved, graph.Edge{From: from, Kind: list.Kind, Why: list.Key, At: ref})
				}
			}
		}
	}
	var err error
	open.received, err = receivings(ctx, r, env)
	errs.Add(err)
	if len(open.lists)+len(open.received)+len(open.resolved) == 0 {
		return nil, errs.Err()
	}
	kept := open // so that most resources take no memory for it
	return &kept, errs.Err()
}

// checkRefresh is [reference.CheckRefresh] for types by name.
func checkRefresh(play *manifest.Play, order reference.Order, ref *yamlpos.Node, own, other string) error {
	from, ok := play.Type(own)
	to, known := play.Type(other)
	if !ok || !known || order.Kind != graph.Subscribe {
		return nil
	}
	return reference.CheckRefresh(order, ref, from, to)
}

// refTexts resolves references to their texts. An expression with the result "" or nil refers to nothing.
func refTexts(ctx context.Context, v *manifest.Value, env *templates.Env) ([]*yamlpos.Node, error) {
	list, err := v.Resolve(ctx, env)
	var texts []string
	if err == nil {
		err = yamlpos.Decode(list, &texts)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(list.Items), func(item *yamlpos.Node) bool { return item.Text == "" }), nil
}

// receivings returns the values that a resource receives from others of its host.
func receivings(ctx context.Context, r *manifest.Resource, env *templates.Env) ([]receiving, error) {
	if r.Recv == nil {
		return nil, nil
	}
	list, err := r.Recv.Resolve(ctx, env)
	if err != nil {
		return nil, err
	}
	var all []receiving
	for _, pair := range list.Pairs {
		all = append(all, receiving{property: r.PropertyName(pair.Key.Text), at: pair.Value})
	}
	return all, nil
}

// resolve makes edges of the remaining references, and writes the received values into the entries of a draft. play
// knows the types of resources.
func resolve(d *draft, play *manifest.Play) ([]graph.Edge, error) {
	open := func(o origin) bool { return o.refs != nil && len(o.refs.lists)+len(o.refs.received) > 0 }
	if !slices.ContainsFunc(d.origins, open) {
		return nil, nil
	}
	r := resolver{entries: d.entries, called: calledSo(d.entries), names: &d.names, play: play}
	var edges []graph.Edge
	for i, o := range d.origins {
		if o.refs == nil {
			continue
		}
		for _, list := range o.refs.lists {
			for _, ref := range list.refs {
				found := r.edges(i, list.order, ref)
				edges = append(edges, found...)
				if o.shown != nil {
					o.shown.refer(found)
				}
			}
		}
		for _, one := range o.refs.received {
			edges = append(edges, r.receive(i, one)...)
		}
	}
	return edges, r.errs.Err()
}

// calledSo finds entries by type#name and type#alias.
func calledSo(entries []wire.Entry) map[string][]int {
	called := map[string][]int{}
	for i := range entries {
		e := &entries[i]
		called[e.Type+"#"+e.Name] = append(called[e.Type+"#"+e.Name], i)
		if e.Alias != "" && e.Alias != e.Name {
			called[e.Type+"#"+e.Alias] = append(called[e.Type+"#"+e.Alias], i)
		}
	}
	return called
}

// A resolver finds what references mean when all entries are there.
type resolver struct {
	entries []wire.Entry
	called  map[string][]int
	names   *names
	play    *manifest.Play
	errs    yamlpos.Errors
}

// find returns all entries of that name. There may be none if the resource of that name is not in the catalog.
func (r *resolver) find(ref *yamlpos.Node) ([]int, error) {
	if targets := r.called[ref.Text]; targets != nil {
		return targets, nil
	}
	if _, err := r.names.find(ref); err != nil {
		e := *err.(*yamlpos.Error)
		if _, _, malformed := reference.Parse(ref); malformed == nil {
			e.Msg = fmt.Sprintf("no resource is called %s on this host", ref.Text)
		}
		return nil, &e
	}
	return nil, nil
}

// edges returns the edges of one reference of entry number i.
func (r *resolver) edges(i int, order reference.Order, ref *yamlpos.Node) []graph.Edge {
	targets, err := r.find(ref)
	if err == nil && len(targets) > 0 {
		err = checkRefresh(r.play, order, ref, r.entries[i].Type, r.entries[targets[0]].Type)
	}
	if err != nil {
		r.errs.Add(err)
		return nil
	}
	var all []graph.Edge
	earlier := false
	for _, target := range targets {
		e := graph.Edge{From: target, To: i, Kind: order.Kind, Why: order.Key, At: ref}
		if order.Mirror {
			e.From, e.To = i, target
		}
		switch {
		case r.contains(e.From, e.To), r.contains(e.To, e.From):
			r.errs.Add(ref.Errorf("remove the reference", "%s and %s are parts of each other", ref.Text, r.entries[i].Ref()))
		case e.From == e.To && len(targets) == 1:
			r.errs.Add(ref.Errorf("", "%s refers to itself", ref.Text))
		case e.From == e.To:
		case !r.play.Graph() && e.From > e.To:
			earlier = true
		default:
			all = append(all, e)
		}
	}
	if len(all) == 0 && earlier {
		r.errs.Add(ref.Errorf(fmt.Sprintf("resources run in the order written: move %s above %s, or set strategy: graph on the play", r.entries[i].Ref(), ref.Text),
			"%s comes earlier", ref.Text))
	}
	return all
}

// contains reports whether outer represents the entry inner.
func (r *resolver) contains(outer, inner int) bool {
	scope := r.entries[outer].Scope
	return scope != nil && inner < outer && inner >= outer-scope.Entries
}

// receive resolves what entry number i receives from another one of this host.
func (r *resolver) receive(i int, one receiving) []graph.Edge {
	ref, key, err := r.play.SplitSent(one.at, func(ref string) bool { return r.called[ref] != nil })
	if err != nil {
		r.errs.Add(err)
		return nil
	}
	name := *one.at
	name.Text = ref
	targets, err := r.find(&name)
	targets = slices.DeleteFunc(slices.Clone(targets), func(k int) bool { return r.entries[k].Excluded || r.entries[k].Unselected != "" })
	if !r.play.Graph() { // the last one called so, as for require
		targets = slices.DeleteFunc(targets, func(k int) bool { return k >= i })
		targets = targets[max(0, len(targets)-1):]
	}
	switch {
	case err != nil:
	case len(targets) == 0:
		err = one.at.Errorf(`"recv" needs a resource of the same run that sends the value; with strategy: linear, that resource must come earlier`,
			`%s does not exist on this host, or "control" or tags skip it`, ref)
	case len(targets) > 1:
		err = one.at.Errorf(`give the resource that you mean its own "alias"`, "%d resources are called %s", len(targets), ref)
	case targets[0] == i:
		err = one.at.Errorf("", "%s receives from itself", ref)
	case r.entries[targets[0]].Scope != nil:
		err = one.at.Errorf("receive from the resources of that manifest", "%s applies a manifest, and has no values of its own", ref)
	case r.entries[targets[0]].Hidden:
		err = one.at.Errorf(`remove "hidden" there`, "%s is hidden, so it does not send %q", ref, key)
	}
	if err != nil {
		r.errs.Add(err)
		return nil
	}
	e := &r.entries[i]
	e.Receive = append(e.Receive, wire.Receive{Property: one.property, From: targets[0], Key: key})
	return []graph.Edge{{From: targets[0], To: i, Kind: graph.Receive, Why: "recv", At: one.at}}
}
