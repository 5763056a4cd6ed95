package catalog

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/templates"
)

// An uncompiled is a resource that the run does not select and that cannot be compiled for the host. A refresh
// of it, or of a resource in it, may be due. It gets an entry after all others, so that the host notes the refresh.
type uncompiled struct {
	resource *manifest.Resource
	err      error
	until    int      // only entries before this one can refresh it
	refs     []string // references that it subscribes to
	any      bool     // its subscriptions are not known: every change may refresh it
}

// notCompiled adds a resource with errors to the list of resources that cannot be compiled. It removes its entries,
// from first on.
func (x *expansion) notCompiled(ctx context.Context, r *manifest.Resource, env *templates.Env, first, notes int, errs yamlpos.Errors) {
	d := x.draft
	d.truncate(first, notes)
	u := uncompiled{resource: r, err: manifest.Distinct(errs), until: first}
	u.subscriptions(ctx, r, env)
	d.uncompiled = append(d.uncompiled, u)
	x.leaveOut(r)
}

// truncate removes entries and notes of a draft, from these numbers on.
func (d *draft) truncate(entries, notes int) {
	if d.notes = d.notes[:notes]; len(d.entries) == entries {
		return
	}
	d.entries, d.origins = d.entries[:entries], d.origins[:entries]
	d.turns = slices.DeleteFunc(d.turns, func(e graph.Edge) bool { return e.From >= entries || e.To >= entries })
	before := calledSo(d.entries)
	for name, last := range d.names.last {
		if len(last) > 0 && last[len(last)-1] >= entries {
			known := before[name]
			d.names.last[name] = known[max(0, len(known)-1):]
		}
	}
}

// subscriptions adds what a resource, and the resources in it, subscribe to.
func (u *uncompiled) subscriptions(ctx context.Context, r *manifest.Resource, env *templates.Env) {
	if u.any = u.any || r.Unknown(); u.any {
		return
	}
	if r.Subscribe != nil {
		// The resources of a nested manifest have data of their own, and elements of an each have their Item.
		if r != u.resource || r.Each != nil {
			env = nil
		}
		refs, ok := literalRefs(ctx, r.Subscribe, env)
		u.refs, u.any = append(u.refs, refs...), !ok
	}
	if r.Child != nil {
		for _, one := range r.Child.Resources {
			u.subscriptions(ctx, one, env)
		}
	}
}

// literalRefs returns references, and false if they have expressions that fail, or any without env.
func literalRefs(ctx context.Context, v *manifest.Value, env *templates.Env) ([]string, bool) {
	if env == nil && v.HasExpressions() {
		return nil, false
	}
	nodes, err := refTexts(ctx, v, env)
	var refs []string
	for _, n := range nodes {
		refs = append(refs, n.Text)
	}
	return refs, err == nil
}

// addUncompiled adds the entries of resources that could not be compiled. No other entry refers to them.
func (x *expansion) addUncompiled() {
	d := x.draft
	count := len(d.entries)
	if len(d.uncompiled) == 0 || count == 0 {
		return
	}
	called := calledSo(d.entries)
	for _, u := range d.uncompiled {
		until := u.until
		if x.inGraph {
			until = count
		}
		var by []int
		for i := range until {
			if u.any && d.entries[i].Scope == nil || d.notifiesUnknown(i) {
				by = append(by, i)
			}
		}
		for _, ref := range u.refs {
			by = append(by, called[ref]...)
		}
		by = slices.DeleteFunc(graph.Distinct(by), func(i int) bool {
			e := &d.entries[i]
			return i >= until || e.Excluded || e.Hidden || e.Unselected == wire.RefreshLater
		})
		if len(by) == 0 {
			continue
		}
		e := wire.Entry{Type: u.resource.Type.Name, Name: writtenName(u.resource), Action: literalAction(u.resource), Unselected: wire.RefreshLater}
		if !x.inGraph {
			e.Subscribe = by
		}
		i := len(d.entries)
		d.entries, d.origins = append(d.entries, e), append(d.origins, origin{resource: u.resource, uncompiled: u.err})
		for _, from := range by {
			if x.inGraph {
				d.turns = append(d.turns, graph.Edge{From: from, To: i, Kind: graph.Subscribe, Why: "subscribe"})
			}
		}
	}
}

// notifiesUnknown reports whether an entry notifies a resource that is in no entry.
func (d *draft) notifiesUnknown(i int) bool {
	refs := d.origins[i].refs
	return refs != nil && slices.ContainsFunc(refs.lists, func(l refList) bool {
		return l.order.Mirror && l.order.Kind == graph.Subscribe && slices.ContainsFunc(l.refs, func(ref *yamlpos.Node) bool {
			entries, err := d.names.find(ref)
			return err == nil && len(entries) == 0
		})
	})
}

// literalAction returns the action of an event, as far as it is known without its data; "" otherwise. Then the due refresh
// goes to a resource of the same name.
func literalAction(r *manifest.Resource) string {
	if r.Child != nil || r.Applies() {
		return ""
	}
	res := r.Type.New()
	merger, ok := res.(modules.Merger)
	if !ok || yamlpos.Decode(r.Properties.Node, res, yamlpos.Open(r.Properties.Open)) != nil || !modules.IsEvent(res) {
		return ""
	}
	return merger.RefreshAction()
}

// writtenName returns the name of a resource as the manifest has it, with its expressions.
func writtenName(r *manifest.Resource) string {
	if r.Applies() && r.Block == nil {
		return source.ShownName(r.Name.Node.Text)
	}
	return r.Name.Node.Text
}

// setWritten sets [wire.Entry.Written] of an entry that has another name in the manifest and that a refresh can
// reach.
func setWritten(e *wire.Entry, r *manifest.Resource) {
	if (r.Each != nil || r.Name.HasExpressions()) && (len(e.Subscribe) > 0 || e.Scope != nil) && !e.Excluded {
		if written := writtenName(r); written != e.Name {
			e.Written = written
		}
	}
}
