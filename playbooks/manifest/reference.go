package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// ParseReference takes type#name apart.
func ParseReference(n *yamlpos.Node) (typeName, name string, err error) {
	typeName, name, _ = strings.Cut(n.Text, "#")
	if typeName == "" || name == "" {
		return "", "", n.Errorf("write type#name, as in file#/etc/motd", "%q names no resource", n.Text)
	}
	return typeName, name, nil
}

// literals are the references whose text is known before any host is.
func literals(lists ...*Value) []*yamlpos.Node {
	var refs []*yamlpos.Node
	for _, v := range lists {
		if v == nil {
			continue
		}
		for _, item := range v.Node.Items {
			if item.Kind == yamlpos.Scalar && !v.Open(item) {
				refs = append(refs, item)
			}
		}
	}
	return refs
}

// An index finds the resources of a list, and of the manifests that they apply, by
// what is known of their names.
type index struct {
	all     []*Resource         // in the order in which they run
	begins  []int               // where the scope of each begins: itself if it applies nothing
	unknown int                 // the first that applies what nobody knows; len(all) if there is none
	called  map[string][]int    // type#name and type#alias → numbers, ascending
	open    map[string]int      // type → the first whose names depend on the host
	names   map[string][]string // type → what is known of the names
	circles *circles            // made with the first reference to a later one
	hints   int                 // given so far
}

// maxHints bounds the suggestions of one list: each looks at all names.
const maxHints = 20

func newIndex(list []*Resource) *index {
	x := &index{called: map[string][]int{}, open: map[string]int{}, names: map[string][]string{}}
	x.flatten(list)
	x.unknown = len(x.all)
	for i, r := range x.all {
		if r.Unknown() && x.unknown == len(x.all) {
			x.unknown = i
		}
		if _, there := x.open[r.Type.Name]; !there && r.DependsOnHost() {
			x.open[r.Type.Name] = i
		}
		for _, name := range r.LiteralNames() {
			ref := r.Type.Name + "#" + name
			x.called[ref] = append(x.called[ref], i)
			x.names[r.Type.Name] = append(x.names[r.Type.Name], name)
		}
	}
	return x
}

func (x *index) flatten(list []*Resource) {
	for _, r := range list {
		begin := len(x.all)
		if r.Child != nil {
			x.flatten(r.Child.Resources)
		}
		x.all, x.begins = append(x.all, r), append(x.begins, begin)
	}
}

// firstOpen is the first resource that may have any name of a type.
func (x *index) firstOpen(typeName string) (first int, isOpen bool) {
	first, isOpen = x.open[typeName]
	if x.unknown < len(x.all) && (!isOpen || x.unknown < first) {
		return x.unknown, true
	}
	return first, isOpen
}

// references checks every literal reference: its target must stand earlier. One
// that no literal name matches is left to the compilation per host if names of
// its type depend on the host.
func (l *loader) references(all []*Resource) {
	x := newIndex(all)
	for i, r := range x.all {
		for _, ref := range literals(r.Require, r.Subscribe) {
			l.add(l.refer(x, i, ref))
		}
		l.mirrored(x, i, r)
		l.receiving(x, i)
	}
	if l.graph && len(l.errs) == 0 {
		l.circular(x)
	}
}

// reference checks one reference of resource number i.
func (l *loader) reference(x *index, i int, ref *yamlpos.Node) error {
	typeName, name, err := l.parseReference(ref)
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
	case len(targets) > 0 && targets[0] < x.begins[i], isOpen && firstOpen < x.begins[i]:
		return nil
	case len(targets) > 0 && targets[0] < i:
		return ref.Errorf("remove the reference: it runs as a part of this one", "%s belongs to what %s applies", ref.Text, x.all[i].Type.Name+"#"+x.all[i].Name.Node.Text)
	case isSelf && x.all[i].Each == nil:
		return ref.Errorf("", "%s refers to itself", ref.Text)
	case len(later) > 0 && x.begins[later[0]] <= i:
		return ref.Errorf("remove the reference: it ends after all that it applies", "%s applies the manifest that this stands in", ref.Text)
	case len(later) > 0:
		return x.tooEarly(ref, i, later[0])
	case isOpen && firstOpen == i:
		return nil
	}
	return ref.Errorf(x.suggestion(typeName, name), "no resource is called %s", ref.Text)
}

// parseReference takes a reference apart, whose type is known.
func (l *loader) parseReference(ref *yamlpos.Node) (typeName, name string, err error) {
	typeName, name, err = ParseReference(ref)
	if err != nil {
		return "", "", err
	}
	if _, ok := l.registry.Lookup(typeName); !ok {
		return "", "", l.unknownType(ref, typeName)
	}
	return typeName, name, nil
}

// tooEarly is the error of a reference to a later resource. A circle is told of
// at its first resource, and nowhere else.
func (x *index) tooEarly(ref *yamlpos.Node, i, later int) error {
	if x.circles == nil {
		x.circles = findCircles(x)
	}
	if x.circles.of[i] != x.circles.of[later] {
		at := x.all[later].Name.Node
		where := fmt.Sprintf("line %d", at.Line)
		if at.File != ref.File {
			where = at.Pos()
		}
		return ref.Errorf("resources run in the order written: move it up", "%s stands later, at %s", ref.Text, where)
	}
	if x.circles.first(i) != i {
		return nil
	}
	var names []string
	for _, n := range x.circles.path(i, later) {
		names = append(names, x.all[n].Type.Name+"#"+x.all[n].Name.Node.Text)
	}
	const most = 8
	if len(names) > most {
		names = append(append(names[:most-2:most-2], "…"), names[len(names)-1])
	}
	return ref.Errorf("remove one of these references", "circular reference: %s", strings.Join(names, " → "))
}

func (x *index) suggestion(typeName, name string) string {
	if x.hints++; x.hints > maxHints {
		return ""
	}
	if s := yamlpos.Suggest(name, x.names[typeName]); s != "" {
		return "did you mean " + typeName + "#" + s + "?"
	}
	var others []string // of the same name, such as Owner/Thing#name for dsc#name
	for other, names := range x.names {
		if slices.Contains(names, name) {
			others = append(others, other)
		}
	}
	if len(others) == 1 {
		return "did you mean " + others[0] + "#" + name + "?"
	}
	return ""
}

// LiteralNames are the name and the alias, as far as they are known before any
// host is.
func (r *Resource) LiteralNames() []string {
	var names []string
	if !r.Name.HasExpressions() {
		names = append(names, r.Name.Node.Text)
	}
	if r.Alias != nil && !r.Alias.HasExpressions() {
		names = append(names, r.Alias.Node.Text)
	}
	return names
}
