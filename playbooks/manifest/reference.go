package manifest

import (
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

// references checks every literal reference: its target must stand earlier. One
// that no literal name matches is left to the compilation per host if names of
// its type depend on the host.
func (l *loader) references(all []*Resource) {
	for i, r := range all {
		for _, ref := range literals(r.Require, r.Subscribe) {
			l.add(l.reference(all, i, ref))
		}
	}
}

// reference checks one reference of resource number i.
func (l *loader) reference(all []*Resource, i int, ref *yamlpos.Node) error {
	typeName, name, err := ParseReference(ref)
	if err != nil {
		return err
	}
	if _, ok := l.registry.Lookup(typeName); !ok {
		return l.unknownType(ref, typeName)
	}
	called := func(r *Resource) bool { return r.is(typeName, name) }
	openly := func(r *Resource) bool { return r.Type.Name == typeName && r.DependsOnHost() }
	switch later := slices.IndexFunc(all[i:], called); {
	case slices.ContainsFunc(all[:i], called), slices.ContainsFunc(all[:i], openly):
		return nil
	case later == 0 && all[i].Each == nil:
		return ref.Errorf("", "%s refers to itself", ref.Text)
	case later > 0:
		if circle := circle(all, i, i+later); circle != nil {
			return circular(ref, all, circle)
		}
		return ref.Errorf("resources run in the order written: move it up",
			"%s stands later, at line %d", ref.Text, all[i+later].Name.Node.Line)
	case openly(all[i]): // an element of an each may refer to one before it
		return nil
	}
	return ref.Errorf(suggestion(typeName, name, all), "no resource is called %s", ref.Text)
}

// circle gives the chain of literal references that leads from resource number
// i over number next back to it; nil if there is none.
func circle(all []*Resource, i, next int) []int {
	seen := map[int]bool{}
	var from func(n int) []int
	from = func(n int) []int {
		if n == i {
			return []int{i}
		}
		if seen[n] {
			return nil
		}
		seen[n] = true
		for _, ref := range literals(all[n].Require, all[n].Subscribe) {
			typeName, name, err := ParseReference(ref)
			if err != nil {
				continue
			}
			for target, r := range all {
				if !r.is(typeName, name) {
					continue
				}
				if rest := from(target); rest != nil {
					return append([]int{n}, rest...)
				}
			}
		}
		return nil
	}
	if rest := from(next); rest != nil {
		return append([]int{i}, rest...)
	}
	return nil
}

// circular tells of a circle at its first resource, and nowhere else.
func circular(ref *yamlpos.Node, all []*Resource, circle []int) error {
	if slices.Min(circle) < circle[0] {
		return nil
	}
	names := make([]string, len(circle))
	for i, n := range circle {
		names[i] = all[n].shown()
	}
	return ref.Errorf("remove one of these references", "circular reference: %s", strings.Join(names, " → "))
}

func (r *Resource) is(typeName, name string) bool { return r.Type.Name == typeName && r.called(name) }

// shown is the resource as references name it.
func (r *Resource) shown() string { return r.Type.Name + "#" + r.Name.Node.Text }

func suggestion(typeName, name string, all []*Resource) string {
	var known []string
	for _, r := range all {
		if r.Type.Name == typeName {
			known = append(known, r.LiteralNames()...)
		}
	}
	if s := yamlpos.Suggest(name, known); s != "" {
		return "did you mean " + typeName + "#" + s + "?"
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

func (r *Resource) called(name string) bool { return slices.Contains(r.LiteralNames(), name) }
