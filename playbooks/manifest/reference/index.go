package reference

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// An Index finds resources by the known parts of their names.
type Index struct {
	registry modules.Registry
	graph    bool
	all      []Resource
	unknown  int                 // first resource that applies a manifest which is not known yet; len(all) means none
	called   map[string][]int    // type#name and type#alias → numbers, ascending
	open     map[string]int      // type → the first whose names depend on the host
	names    map[string][]string // type → known names
	circles  *circles            // made with the first reference to a later one
	hints    int                 // given so far
}

// maxHints bounds the suggestions of one index: each looks at all names.
const maxHints = 20

// NewIndex returns the index of resources in the order in which they run: resources that one applies are right before
// it. inGraph is set if dependencies order them instead of the written order.
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

// begin returns the first index of a resource's scope: i itself if it applies nothing.
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

// Suggest returns a hint for a name that no resource has: a similar name, or the same name of another type. It returns
// "" if nothing is similar, or after many calls.
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
	var others []string // types with the same name, such as Owner/Thing#name for dsc#name
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

// A Resource is the view of a resource that references need.
type Resource struct {
	Type    modules.Type
	Name    *yamlpos.Node   // as it is written
	Names   []string        // name and alias, as far as they are known before any host is
	Open    bool            // its names depend on the host
	Each    bool            // it stands for one resource per element
	Applies bool            // it stands for a nested manifest
	Unknown bool            // set if it applies a manifest that is known only per host
	Hidden  bool            // set if it never runs and sends nothing
	Within  int             // number of resources before it that it applies
	Rescue  int             // number of resources in the rescue of a block
	Always  int             // and how many after these
	Lists   []List          // lists of resources that run before or after it
	Recv    []*yamlpos.Node // the values that it receives, as far as they are literal
}

// Ref returns the resource's name in the manifest.
func (r *Resource) Ref() string { return r.Type.Name + "#" + r.Name.Text }

// An Order defines the order that a list of references requires.
type Order struct {
	Key    string // key of the list in a manifest
	Kind   graph.Kind
	Mirror bool // set if the named resources run after the resource, not before
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
	Refs []*yamlpos.Node // literal references
}
