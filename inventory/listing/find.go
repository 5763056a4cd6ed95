package listing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// FindHost finds a host by its name.
func FindHost(hosts []*inventory.Host, name string) (*inventory.Host, error) {
	for _, h := range hosts {
		if h.Name == name {
			return h, nil
		}
	}
	if meant := meantHost(hosts, name); meant != "" {
		return nil, fmt.Errorf("unknown host %q; did you mean %q?", name, meant)
	}
	return nil, fmt.Errorf("unknown host %q", name)
}

// meantHost finds a host with nearly that name, or else one whose first label is nearly
// that: web04 may be meant to be web01.example.com.
func meantHost(hosts []*inventory.Host, name string) string {
	names := Names(hosts)
	if meant := yamlpos.Suggest(name, names); meant != "" {
		return meant
	}
	labels := make([]string, len(names))
	for i, n := range names {
		labels[i], _, _ = strings.Cut(n, ".")
	}
	if i := slices.Index(labels, cmp.Or(yamlpos.Suggest(name, labels), name)); i >= 0 {
		return names[i]
	}
	return ""
}

// FindGroup finds the group that a graph begins at.
func FindGroup(inv *inventory.Inventory, name string) (*inventory.Group, error) {
	var names []string
	for _, g := range inv.Groups() {
		if g.Name == name {
			return g, nil
		}
		names = append(names, g.Name)
	}
	hint := "; -l takes a pattern"
	if meant := yamlpos.Suggest(name, names); meant != "" {
		hint = fmt.Sprintf("; did you mean %q?", meant)
	}
	return nil, fmt.Errorf("--graph: unknown group %q%s", name, hint)
}
