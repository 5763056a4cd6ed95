package catalog

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// names has the names of the entries so far, and the names of resources that are not in the catalog: a reference to
// such a resource is valid, and leads to no entry.
type names struct {
	last         map[string][]int // type#name and type#alias → the entries last called so; none: not in the catalog
	unknownTypes map[string]bool  // types with resources that are not in the catalog, under names that are not known
	anyUnknown   bool             // there are resources of unknown types and names
	hints        int              // suggestions that have been made
}

// newNames has room for so many.
func newNames(count int) names {
	return names{last: make(map[string][]int, count), unknownTypes: map[string]bool{}}
}

// add notes the names of entry number i.
func (n *names) add(e *wire.Entry, i int) {
	own := []int{i}
	n.last[e.Type+"#"+e.Name] = own
	if e.Alias != "" {
		n.last[e.Type+"#"+e.Alias] = own
	}
}

// unknown notes the names of a resource that is not in the catalog. Without a name it can
// be any of its type.
func (n *names) unknown(typeName, name, alias string) {
	if name == "" {
		n.unknownTypes[typeName] = true
	}
	for _, one := range []string{name, alias} {
		if ref := typeName + "#" + one; one != "" && n.last[ref] == nil {
			n.last[ref] = []int{}
		}
	}
}

// find finds the entries that were last called so.
func (n *names) find(ref *yamlpos.Node) ([]int, error) {
	entries, ok := n.last[ref.Text]
	if ok {
		return entries, nil
	}
	typeName, _, err := reference.Parse(ref)
	if err != nil || n.unknownTypes[typeName] || n.anyUnknown {
		return nil, err
	}
	return nil, ref.Errorf(n.suggest(ref.Text), "no earlier resource is called %s on this host", ref.Text)
}

func (n *names) suggest(ref string) string {
	const most = 20 // each looks at all names
	if n.hints++; n.hints > most {
		return ""
	}
	var known []string
	for name := range n.last {
		known = append(known, name)
	}
	slices.Sort(known) // of several that are as near, always the same
	if s := yamlpos.Suggest(ref, known); s != "" {
		return "did you mean " + s + "?"
	}
	return ""
}
