package inventory

import (
	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Relays returns the candidates for relaying the host program to a host, in the order in which they are tried; the
// first that can relay does it. conn is the inventory's connection to that host. said is false if the inventory does
// not set relays.
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
		errs.Add(at.Errorf("name a group, or one host, or write "+connection.NoRelay, "relay: unknown group or host %q", name))
	}
	return errs
}
