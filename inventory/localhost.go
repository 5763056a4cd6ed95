package inventory

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

const localhost = "localhost"

// implicitLocalhost makes the host that the patterns localhost, 127.0.0.1 and ::1
// mean if the inventory lists none of the three. As in Ansible it is in the group
// all, and no pattern but its name selects it.
func (b *builder) implicitLocalhost() {
	if !b.inv.options.AllowImplicitLocalhost {
		return
	}
	for _, name := range pattern.LocalNames {
		if h := b.inv.hostOf[name]; h != nil {
			b.inv.local = h
			return
		}
	}
	at := yamlpos.TextFrom("the implicit "+localhost, localhost)
	b.inv.local = &Host{Name: localhost, first: at, index: len(b.inv.hosts), direct: []*Group{b.inv.groupOf[allGroup]}}
	b.variables(&b.inv.local.said, yamlpos.From(at, map[string]any{"ansible_connection": "local"}))
}

// everyHost lists the hosts of the inventory, and the implicit one.
func (b *builder) everyHost() []*Host {
	if h := b.inv.local; h != nil && b.inv.hostOf[h.Name] != h {
		return append(slices.Clip(b.inv.hosts), h)
	}
	return b.inv.hosts
}
