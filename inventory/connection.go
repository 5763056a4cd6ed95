package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// What the inventory says about reaching a host.
type (
	Connection = connection.Params
	Hop        = connection.Hop
	Option     = connection.Option
)

// Connection gives what the inventory says about reaching the host. Layers are
// those of [Host.Vars]; within one layer connect: wins over ansible_ variables.
func (h *Host) Connection() Connection {
	var room [few]connection.Settings
	return connection.Resolve(h.Name, h.appendSettings(room[:0]))
}

// appendSettings adds what each of the places says about the connection, low to
// high.
func (h *Host) appendSettings(list []connection.Settings) []connection.Settings {
	for _, p := range h.below.places {
		list = append(list, p.settings)
	}
	list = append(list, h.said.settings)
	for i := range h.files {
		list = append(list, h.files[i].said.settings)
	}
	return list
}

// A Setting is one place that says something about the connection to a host.
type Setting struct {
	connection.Entry
	Layer  string // whose it is, see [Layer]
	Source string // see [Layer]
	Wins   bool   // it is what [Host.Connection] has
}

// Settings lists every place that says something about the connection, low to
// high.
func (h *Host) Settings() []Setting {
	won := connection.WonIn(h.Connection())
	var list []Setting
	for _, p := range h.places() {
		for _, s := range p.settings {
			for _, e := range s.Entries() {
				list = append(list, Setting{Entry: e, Layer: p.of(), Source: p.source, Wins: won(e)})
			}
		}
	}
	return list
}

// Refusals are why what the inventory says about reaching hosts cannot be honoured,
// wherever that stands and whether or not it counts for a host. Nobody is kept from
// working on other hosts by them; [Connection.Refused] and [Inventory.CheckJumps] tell
// of those that keep a host from being dialled.
func (inv *Inventory) Refusals() yamlpos.Errors {
	errs := inv.CheckJumps(inv.hosts...)
	for _, p := range inv.places() {
		errs = append(errs, p.settings.Refused()...)
	}
	return errs
}

// CheckJumps finds routes to hosts that lead nowhere: a jump host that is a group, or
// has a jump host of its own. A name that the inventory does not know is an address.
// What several hosts get from one place is reported once.
func (inv *Inventory) CheckJumps(hosts ...*Host) yamlpos.Errors {
	c := jumpCheck{inv: inv, reported: map[*yamlpos.Node]bool{}, circles: map[string]bool{}}
	for _, h := range hosts {
		hops, at := c.hops(h)
		for _, hop := range hops {
			if !c.reported[at] {
				c.hop(hop, at)
			}
		}
	}
	return c.errs
}

type jumpCheck struct {
	inv      *Inventory
	errs     yamlpos.Errors
	reported map[*yamlpos.Node]bool
	circles  map[string]bool // hosts of those that have been reported
}

// hop reports what is wrong with one hop of a route that is written at a place.
func (c *jumpCheck) hop(hop Hop, at *yamlpos.Node) {
	next := c.inv.hostOf[hop.Host]
	further, _ := c.hops(next)
	circle := c.circle(hop.Host)
	var err error
	switch {
	case next == nil && c.inv.groupOf[hop.Host] != nil:
		err = at.Errorf("name one host of it", "jump: %q is a group", hop.Host)
	case len(further) == 0, c.circles[hop.Host]:
		return
	case circle != nil:
		err = at.Errorf(fmt.Sprintf("one of them has to be reached directly: write connect: {jump: none} at %s", circle[len(circle)-1]),
			"jump hosts lead in a circle: %s", strings.Join(circle, " -> "))
	default:
		err = at.Errorf(fmt.Sprintf("write the whole way, outermost first: jump: %s,%s", join(further), hop),
			"jump host %s has a jump host of its own", hop.Host)
	}
	c.errs.Add(err)
	c.reported[at] = true
	for _, name := range circle {
		c.circles[name] = true
	}
}

func join(hops []Hop) string {
	texts := make([]string, len(hops))
	for i, hop := range hops {
		texts[i] = hop.String()
	}
	return strings.Join(texts, ",")
}

// circle follows the outermost jump host of a host, then that of this one, and
// so on. It gives the names from the first that comes twice on, nil if none does.
func (c *jumpCheck) circle(name string) []string {
	var path []string
	seen := map[string]int{}
	for {
		path = append(path, name)
		if i, twice := seen[name]; twice {
			return path[i:]
		}
		seen[name] = len(seen)
		hops, _ := c.hops(c.inv.hostOf[name])
		if len(hops) == 0 {
			return nil
		}
		name = hops[0].Host
	}
}

// hops gives the way to a host, and where it is written.
func (c *jumpCheck) hops(h *Host) (hops []Hop, at *yamlpos.Node) {
	if h == nil || !h.hasJump() {
		return nil, nil
	}
	return connection.Jump(h.appendSettings(nil))
}

// hasJump is quick for the many hosts that are reached directly.
func (h *Host) hasJump() bool {
	return h.said.settings.HasJump() ||
		slices.ContainsFunc(h.below.places, func(p place) bool { return p.settings.HasJump() }) ||
		slices.ContainsFunc(h.files, func(f varFile) bool { return f.said.settings.HasJump() })
}
