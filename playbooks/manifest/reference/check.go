package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// Check checks every literal reference. In written order the target must be earlier. In a graph it may be anywhere
// except inside or around the resource. A reference that no literal name matches is checked by the compilation per host
// if names of its type depend on the host.
func (x *Index) Check() error {
	var errs yamlpos.Errors
	for i, r := range x.all {
		for _, list := range r.Lists {
			for _, ref := range list.Refs {
				errs.Add(x.listed(i, list.Order, ref))
			}
		}
		for _, value := range r.Recv {
			errs.Add(x.receives(i, value))
		}
	}
	return errs.Err()
}

// listed checks one reference of a list of resource number i.
func (x *Index) listed(i int, o Order, ref *yamlpos.Node) error {
	var err error
	switch {
	case !o.Mirror:
		err = x.refer(i, ref)
	case x.graph:
		err = x.anywhere(i, ref, o)
	default:
		err = x.later(i, ref, o)
	}
	if err != nil || o.Kind != graph.Subscribe {
		return err
	}
	typeName, _, err := Parse(ref)
	other, ok := x.registry.Lookup(typeName)
	if err != nil || !ok { // which is reported by itself
		return nil
	}
	return CheckRefresh(o, ref, x.all[i].Type, other)
}

// refer checks a reference to a target that runs before resource number i.
func (x *Index) refer(i int, ref *yamlpos.Node) error {
	if x.graph {
		return x.anywhere(i, ref, Order{})
	}
	return x.earlier(i, ref)
}

// earlier checks a reference of resource number i to an earlier resource.
func (x *Index) earlier(i int, ref *yamlpos.Node) error {
	typeName, name, err := x.parse(ref)
	if err != nil {
		return err
	}
	targets := x.called[ref.Text]
	firstOpen, isOpen := x.firstOpen(typeName)
	// Of its own elements, one of an each may refer to those before it.
	self, isSelf := slices.BinarySearch(targets, i)
	later := targets[self:]
	if isSelf {
		later = later[1:]
	}
	switch {
	case len(targets) > 0 && targets[0] < x.begin(i), isOpen && firstOpen < x.begin(i):
		return nil
	case len(targets) > 0 && targets[0] < i:
		return x.part(ref, i)
	case isSelf && !x.all[i].Each:
		return ref.Errorf("", "%s refers to itself", ref.Text)
	case len(later) > 0 && x.begin(later[0]) <= i:
		return x.around(ref)
	case len(later) > 0:
		return x.tooEarly(ref, i, later[0])
	case isOpen && firstOpen == i:
		return nil
	}
	hint := x.suggest(typeName, name, func(target int) bool { return target != i })
	return ref.Errorf(hint, "no resource is called %s", ref.Text)
}

// part is the error of a reference of resource number i to a part of itself.
func (x *Index) part(ref *yamlpos.Node, i int) error {
	of := "a resource of the manifest that it applies"
	if !x.all[i].Applies {
		of = "a resource in this block"
	}
	hint := fmt.Sprintf("remove the reference: %s already runs as a part of %s", ref.Text, x.all[i].Ref())
	return ref.Errorf(hint, "%s refers to %s, %s", x.all[i].Ref(), ref.Text, of)
}

// around returns the error of a reference to what contains the resource.
func (x *Index) around(ref *yamlpos.Node) error {
	if strings.HasPrefix(ref.Text, "block#") {
		return ref.Errorf("remove the reference: the block ends after its resources", "%s is the block that contains this resource", ref.Text)
	}
	return ref.Errorf("remove the reference: it ends after the resources of its manifest", "%s applies the manifest that contains this resource", ref.Text)
}

// tooEarly is the error of a reference to a later resource. A circle is reported
// once, at its first resource.
func (x *Index) tooEarly(ref *yamlpos.Node, i, later int) error {
	if x.circles == nil {
		x.circles = findCircles(x)
	}
	if x.circles.of[i] != x.circles.of[later] {
		return ref.Errorf("move "+ref.Text+" above this resource: resources run in the order written", "%s is defined later, at %s", ref.Text, x.place(later, ref))
	}
	if x.circles.first(i) != i {
		return nil
	}
	var names []string
	for _, n := range x.circles.path(i, later) {
		names = append(names, x.all[n].Ref())
	}
	const most = 8
	if len(names) > most {
		names = append(append(names[:most-2:most-2], "…"), names[len(names)-1])
	}
	return ref.Errorf("remove one of these references", "circular reference: %s", strings.Join(names, " → "))
}

// place returns the position of resource number i, as seen from a reference.
func (x *Index) place(i int, from *yamlpos.Node) string {
	at := x.all[i].Name
	if at.File != from.File {
		return at.Pos()
	}
	return fmt.Sprintf("line %d", at.Line)
}

// anywhere checks a reference of resource number i of a graph: its target may be anywhere except inside or around the
// resource. Hints suggest only targets that o can refer to.
func (x *Index) anywhere(i int, ref *yamlpos.Node, o Order) error {
	typeName, name, err := x.parse(ref)
	if err != nil {
		return err
	}
	targets := x.called[ref.Text]
	_, isOpen := x.firstOpen(typeName)
	for _, target := range targets {
		switch {
		case target == i && len(targets) > 1:
		case target == i:
			return ref.Errorf("", "%s refers to itself", ref.Text)
		case target >= x.begin(i) && target < i:
			return x.part(ref, i)
		case x.begin(target) <= i && i < target:
			return x.around(ref)
		}
	}
	if len(targets) > 0 || isOpen {
		return nil
	}
	hint := x.suggest(typeName, name, func(target int) bool {
		return target != i && (o.Key != Notify.Key || refreshes(x.all[target].Type))
	})
	return ref.Errorf(hint, "no resource is called %s", ref.Text)
}

// later checks a reference in before or notify of resource number i in written order: its target must be later.
func (x *Index) later(i int, ref *yamlpos.Node, o Order) error {
	if err := x.anywhere(i, ref, o); err != nil {
		return err
	}
	typeName, _, _ := Parse(ref)
	targets := x.called[ref.Text]
	_, isOpen := x.firstOpen(typeName)
	if isOpen || slices.ContainsFunc(targets, func(target int) bool { return target > i }) {
		return nil
	}
	return ref.Errorf(fmt.Sprintf("resources run in the order written: move %s above %s, or set strategy: graph on the play", x.all[i].Ref(), ref.Text),
		"%s comes earlier, at %s", ref.Text, x.place(targets[0], ref))
}

// CheckRefresh returns the error of a reference in subscribe or notify of a resource to one of type other: the one that
// changes never changes, or the other one has no refresh.
func CheckRefresh(o Order, ref *yamlpos.Node, own, other modules.Type) error {
	switch {
	case !o.Mirror && other.Idle:
		return ref.Errorf(`use "require" for the order, and subscribe to a resource that changes`, "type %s changes nothing, so no resource can subscribe to it", other.Name)
	case o.Mirror && !refreshes(other):
		return ref.Errorf(`use "before" for the order`, "type %s has no refresh, so it cannot be notified", other.Name)
	case o.Mirror && own.Idle:
		return ref.Errorf(`use "before" for the order, and notify from a resource that changes`, "type %s changes nothing, so it cannot notify", own.Name)
	}
	return nil
}

func refreshes(t modules.Type) bool {
	_, ok := t.New().(modules.Refresher)
	return ok
}

// receives checks a value that resource number i receives.
func (x *Index) receives(i int, value *yamlpos.Node) error {
	name, key, err := SplitValue(value, x.registry, x.exists)
	if err != nil {
		return err
	}
	ref := *value
	ref.Text = name
	if err := x.refer(i, &ref); err != nil {
		return err
	}
	var errs yamlpos.Errors
	for _, target := range x.called[name] {
		errs.Add(x.all[target].sends(value, key))
	}
	return errs.Err()
}

// sends is the error of receiving from a resource that sends nothing.
func (r *Resource) sends(at *yamlpos.Node, key string) error {
	switch {
	case r.Applies:
		return at.Errorf("receive from the resources of that manifest", "%s applies a manifest, and has no values of its own", r.Ref())
	case r.Hidden:
		return at.Errorf(`remove "hidden" there`, "%s is hidden, so it does not send %q", r.Ref(), key)
	}
	return nil
}
