package dsc

import (
	"container/heap"
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
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

// dependencies reads dependsOn of what is either the resource or a group around it.
func (d *draft) dependencies(ctx context.Context, of *draft) {
	list, s := of.body.Get("dependsOn"), of.scope
	switch {
	case list.IsNull():
		return
	case list.Kind != yamlpos.List:
		s.add(list.Errorf("write - \"[resourceId('Owner/Thing', 'name')]\"", "dependsOn must be a list, not %s", list.Describe()))
		return
	}
	for _, item := range list.Items {
		id, ok := s.text(ctx, item, "an entry of dependsOn", s.exprNames(ctx, of.loop, nil))
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

// find gives the resources with an id, in the document or group itself.
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
	return nil, unknown("resource", id, known, "it must stand in the same document or group, or around it")
}

// resourceRef gives the instance that an expression of d asks about, which d then
// depends on.
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
			return "", &expr.Error{Msg: "a resource of type " + other.Type + " does not tell its state", Hint: "order it by dependsOn"}
		}
		d.need(at, other)
		return other.Ref(), nil
	}
}

// sorted gives the instances in an order in which each follows what it depends on,
// and otherwise as they are written. A circle is an error.
func (r *reader) sorted() []*Instance {
	waits := make([]int, len(r.instances))
	then := make([][]int, len(r.instances))
	for i, d := range r.instances {
		for _, other := range d.order {
			waits[i]++
			then[other.number] = append(then[other.number], i)
			d.Requires = append(d.Requires, &other.Instance)
		}
	}
	ready := &numbers{}
	for i, n := range waits {
		if n == 0 {
			heap.Push(ready, i)
		}
	}
	var order []*Instance
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, &r.instances[i].Instance)
		for _, next := range then[i] {
			if waits[next]--; waits[next] == 0 {
				heap.Push(ready, next)
			}
		}
	}
	if len(order) < len(r.instances) {
		r.circle(waits)
	}
	return order
}

// circle reports one circle among what waits.
func (r *reader) circle(waits []int) {
	d := r.instances[slices.IndexFunc(waits, func(n int) bool { return n > 0 })]
	seen := map[*draft]int{}
	var path []*draft
	for {
		if at, again := seen[d]; again {
			path = path[at:]
			break
		}
		seen[d] = len(path)
		path = append(path, d)
		d = d.order[slices.IndexFunc(d.order, func(other *draft) bool { return waits[other.number] > 0 })]
	}
	first := 0 // the one that is written first begins
	for i, d := range path {
		if d.number < path[first].number {
			first = i
		}
	}
	path = append(slices.Clone(path[first:]), path[:first]...)
	var names []string
	for _, d := range append(path, path[0]) {
		names = append(names, d.Ref())
	}
	const most = 8
	if len(names) > most {
		names = append(append(names[:most-2:most-2], "…"), names[len(names)-1])
	}
	r.add(path[0].needs[path[1%len(path)]].Errorf("remove one of these dependencies", "circular dependency: %s", strings.Join(names, " → ")))
}

// numbers is a heap of integers, the least first.
type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *numbers) Push(x any)        { *n = append(*n, x.(int)) }
func (n *numbers) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}
