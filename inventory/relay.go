package inventory

import (
	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Relays gives the hosts of which the first that can hands the host program on to a host, in the order in which they are
// asked. conn is what the inventory says of that host. said is false if it says nothing of relays.
func (inv *Inventory) Relays(conn Connection) (hosts []*Host, said bool) {
	if conn.Relay == "" || conn.Relay == connection.NoRelay {
		return nil, conn.Relay != ""
	}
	if h := inv.hostOf[conn.Relay]; h != nil {
		return []*Host{h}, true
	}
	if g := inv.groupOf[conn.Relay]; g != nil {
		return g.Hosts(), true
	}
	return nil, true // which CheckRelays reports
}

// CheckRelays finds relays that are neither a group nor a host. A place that several hosts get theirs from is
// reported once.
func (inv *Inventory) CheckRelays(hosts ...*Host) (errs yamlpos.Errors) {
	reported := map[*yamlpos.Node]bool{}
	for _, h := range hosts {
		if !h.has(connection.Settings.HasRelay) { // as nearly all
			continue
		}
		name, at := connection.Relay(h.appendSettings(nil))
		if at == nil || name == connection.NoRelay || inv.hostOf[name] != nil || inv.groupOf[name] != nil || reported[at] {
			continue
		}
		reported[at] = true
		errs.Add(at.Errorf("name a group, or one host, or write "+connection.NoRelay, "relay: there is no group or host %q", name))
	}
	return errs
}
