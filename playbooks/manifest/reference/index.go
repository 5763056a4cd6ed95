package reference

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// An Index finds resources by what is known of their names.
type Index struct {
	registry modules.Registry
	graph    bool
	all      []Resource
	unknown  int                 // the first that applies a manifest which is not known yet; len(all) if there is none
	called   map[string][]int    // type#name and type#alias → numbers, ascending
	open     map[string]int      // type → the first whose names depend on the host
	names    map[string][]string // type → what is known of the names
	circles  *circles            // made with the first reference to a later one
	hints    int                 // given so far
}

// maxHints bounds the suggestions of one index: each looks at all names.
const maxHints = 20

// NewIndex makes the index of resources in the order in which they run: what one
// applies stands right before it. inGraph says that they run as they depend on each
// other, and not in the order written.
func NewIndex(all []Resource, registry modules.Registry, inGraph bool) *Index {
	x := &Index{registry: registry, graph: inGraph, all: all, called: map[string][]int{}, open: map[string]int{}, names: map[string][]string{}}
	x.unknown = len(all)
	for i := range all {
		r := &all[i]
		if r.Unknown && x.unknown == len(all) {
			x.unknown = i
		}
		if _, there := x.open[r.Type.Name]; !there && r.Open {
			x.open[r.Type.Name] = i
		}
		for _, name := range r.Names {
			ref := r.Type.Name + "#" + name
			x.called[ref] = append(x.called[ref], i)
			x.names[r.Type.Name] = append(x.names[r.Type.Name], name)
		}
	}
	return x
}

// begin is where the scope of a resource begins: itself if it applies nothing.
func (x *Index) begin(i int) int { return i - x.all[i].Within }

// exists reports whether a resource is called so.
func (x *Index) exists(ref string) bool { return x.called[ref] != nil }

// firstOpen is the first resource that may have any name of a type.
func (x *Index) firstOpen(typeName string) (first int, isOpen bool) {
	first, isOpen = x.open[typeName]
	if x.unknown < len(x.all) && (!isOpen || x.unknown < first) {
		return x.unknown, true
	}
	return first, isOpen
}

// parse takes a reference apart, whose type is known.
func (x *Index) parse(ref *yamlpos.Node) (typeName, name string, err error) {
	typeName, name, err = Parse(ref)
	if err != nil {
		return "", "", err
	}
	if _, ok := x.registry.Lookup(typeName); !ok {
		return "", "", UnknownType(x.registry, ref, typeName)
	}
	return typeName, name, nil
}

// Suggest asks about a name that no resource has: whether a similar name was
// meant, or the same of another type; "" if nothing is similar, or when it has been
// asked often.
func (x *Index) Suggest(typeName, name string) string {
	return x.suggest(typeName, name, func(int) bool { return true })
}

// suggest is Suggest, about resources whose numbers fit.
func (x *Index) suggest(typeName, name string, fits func(i int) bool) string {
	if x.hints++; x.hints > maxHints {
		return ""
	}
	called := func(typeName, name string) bool { return slices.ContainsFunc(x.called[typeName+"#"+name], fits) }
	known := slices.DeleteFunc(slices.Clone(x.names[typeName]), func(name string) bool { return !called(typeName, name) })
	if s := yamlpos.Suggest(name, known); s != "" {
		return "did you mean " + typeName + "#" + s + "?"
	}
	var others []string // of the same name, such as Owner/Thing#name for dsc#name
	for other, names := range x.names {
		if slices.Contains(names, name) && called(other, name) {
			others = append(others, other)
		}
	}
	if len(others) == 1 {
		return "did you mean " + others[0] + "#" + name + "?"
	}
	return ""
}

// A Resource is what references need to know of one.
type Resource struct {
	Type    modules.Type
	Name    *yamlpos.Node   // as it is written
	Names   []string        // name and alias, as far as they are known before any host is
	Open    bool            // its names depend on the host
	Each    bool            // it stands for one resource per element
	Applies bool            // it stands for a nested manifest
	Unknown bool            // it applies what is known only per host
	Hidden  bool            // it is never carried out, and sends nothing
	Within  int             // how many resources before it are what it applies
	Rescue  int             // of a block, how many of its resources run after those that may fail
	Always  int             // and how many after these
	Lists   []List          // by which it says what it runs before or after
	Recv    []*yamlpos.Node // the values that it receives, as far as they are literal
}

// Ref is how the manifest calls the resource.
func (r *Resource) Ref() string { return r.Type.Name + "#" + r.Name.Text }

// An Order is what a list of references says of the order in which resources run.
type Order struct {
	Key    string // of the list in a manifest
	Kind   graph.Kind
	Mirror bool // what it names comes after the resource, not before
}

// Orders that a resource can give.
var (
	Require   = Order{"require", graph.Require, false}
	Subscribe = Order{"subscribe", graph.Subscribe, false}
	Before    = Order{"before", graph.Require, true}
	Notify    = Order{"notify", graph.Subscribe, true}
)

// A List is the references of a resource that say the same of the order.
type List struct {
	Order
	Refs []*yamlpos.Node // those that are literal
}
