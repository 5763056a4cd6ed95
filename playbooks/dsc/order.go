package dsc

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// need notes that a resource depends on others.
func (d *draft) need(at *yamlpos.Node, others ...*draft) {
	for _, other := range others {
		if other.isGroup {
			d.need(at, other.within...)
			continue
		}
		if d.needs[other] == nil {
			d.needs[other] = at
			d.order = append(d.order, other)
		}
	}
}

// dependencies reads dependsOn of the resource or of a group around it.
func (d *draft) dependencies(ctx context.Context, of *draft) {
	list, s := of.body.Get("dependsOn"), of.scope
	switch {
	case list.IsNull():
		return
	case list.Kind != yamlpos.List:
		s.add(list.Errorf("write - \"[resourceId('Owner/Thing', 'name')]\"", `"dependsOn" must be a list, not %s`, list.Describe()))
		return
	}
	for _, item := range list.Items {
		id, ok := s.text(ctx, item, `an entry of "dependsOn"`, s.exprNames(ctx, of.loop, nil))
		if !ok {
			continue
		}
		found, err := s.find(id)
		if err != nil {
			s.add(placed(item, err))
			continue
		}
		for _, other := range found {
			if other == d || slices.Contains(d.around, other) {
				s.add(item.Errorf("", "%s depends on itself", d.Ref()))
				continue
			}
			d.need(item, other)
		}
	}
}

// find returns the resources with an id, in the document or group itself.
func (s *scope) find(id string) ([]*draft, error) {
	typeName, name, ok := strings.Cut(id, ":")
	if !ok {
		return nil, &expr.Error{Msg: "a resource is named by [resourceId('Owner/Thing', 'name')], not by \"" + id + "\""}
	}
	for scope := s; scope != nil; scope = scope.parent {
		if found := scope.byID[strings.ToLower(typeName)+":"+name]; len(found) > 0 {
			return found, nil
		}
	}
	var known []string
	for _, list := range s.byID {
		for _, d := range list {
			known = append(known, expr.ResourceID(d.Type, d.Name))
		}
	}
	slices.Sort(known)
	return nil, unknown("resource", id, known, "it must be in the same document or group, or in an enclosing one")
}

// resourceRef returns the instance that an expression of d reads, which becomes a dependency of d.
func (d *draft) resourceRef(at *yamlpos.Node) func(id string) (string, error) {
	return func(id string) (string, error) {
		found, err := d.scope.find(id)
		if err != nil {
			return "", err
		}
		other := found[0]
		switch {
		case other.isGroup:
			return "", &expr.Error{Msg: "a group has no state of its own", Hint: "refer to a resource in it"}
		case other == d:
			return "", &expr.Error{Msg: d.Ref() + " refers to itself"}
		case d.scope.opts.Tells != nil && !d.scope.opts.Tells(other.Entry):
			return "", &expr.Error{Msg: "a resource of type " + other.Type + " does not return its state", Hint: `order it with "dependsOn"`}
		}
		d.need(at, other)
		return other.Ref(), nil
	}
}

// sorted returns the instances in an order in which each follows its dependencies, and otherwise in the written order.
// A circle is an error.
func (r *reader) sorted() []*Instance {
	vertices := make([]graph.Vertex, len(r.instances))
	var edges []graph.Edge
	for i, d := range r.instances {
		vertices[i] = graph.Vertex{Ref: d.Ref(), Within: -1}
		for _, other := range d.order {
			d.Requires = append(d.Requires, &other.Instance)
			edges = append(edges, graph.Edge{From: other.number, To: i, Kind: graph.Require, Why: "dependsOn"})
		}
	}
	g, err := graph.New(vertices, edges)
	if err != nil {
		r.circle(err)
		return nil
	}
	order := make([]*Instance, len(r.instances))
	for at, i := range g.Order {
		order[at] = &r.instances[i].Instance
	}
	return order
}

// circle reports instances that depend on each other, each followed by one that it
// depends on: the error has them in the order in which they would run.
func (r *reader) circle(err error) {
	e, ok := errors.AsType[*graph.CircleError](err)
	if !ok {
		r.add(err)
		return
	}
	const most = 8
	names := slices.Clone(e.Refs)
	slices.Reverse(names)
	if len(names) > most {
		names = append(append(names[:most-2:most-2], "…"), names[len(names)-1])
	}
	last := e.Edges[len(e.Edges)-1]
	at := r.instances[last.To].needs[r.instances[last.From]]
	r.add(at.Errorf("remove one of these dependencies", "circular dependency: %s", strings.Join(names, " → ")))
}
