package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Connection types of the inventory.
type (
	Connection = connection.Params
	JumpHost   = connection.JumpHost
	Option     = connection.Option
)

// Connection returns the inventory's settings for reaching the host. The layers are the same as in [Host.Vars]; within
// one layer connect: overrides ansible_ variables.
func (h *Host) Connection() Connection {
	var room [few]connection.Settings
	return connection.Resolve(h.Name, h.appendSettings(room[:0]), variablesOf{h})
}

// variablesOf are the variables of a host, for passwords that refer to them.
type variablesOf struct{ host *Host }

// Variable returns the value of a variable in [MergeLayers] of the host's layers.
func (v variablesOf) Variable(name string) (value *yamlpos.Node) {
	var room [few]place
	for _, p := range v.host.appendPlaces(room[:0]) {
		for _, n := range p.vars {
			switch said := n.Get(name); {
			case said == nil:
			case v.host.below.deep:
				value = over(value, said)
			default:
				value = said
			}
		}
	}
	return value
}

func (v variablesOf) VariableNames() []string {
	return slices.Collect(maps.Keys(MergeLayers(v.host.Layers())))
}

// appendSettings appends the connection settings of each place, lowest first.
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

// A Setting is one place that sets a key of the connection to a host.
type Setting struct {
	connection.Entry
	Layer  string // the group or host it belongs to, as in [Layer.Name]
	Source string // as in [Layer.Source]
	Wins   bool   // [Host.Connection] has this one
}

// Settings lists every place that sets a key of the connection, lowest first.
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

// Refusals lists every connection setting that cannot be applied, wherever it is set and whether or not a host gets it.
// ccm-push can still run on other hosts: [Connection.Refused], [Inventory.CheckJumps] and [Inventory.CheckRelays]
// return the errors that keep one host from being dialled.
func (inv *Inventory) Refusals() yamlpos.Errors {
	errs := append(inv.CheckJumps(inv.hosts...), inv.CheckRelays(inv.hosts...)...)
	for _, p := range inv.places() {
		errs = append(errs, p.settings.Refused()...)
	}
	reported := map[string]bool{}
	for _, s := range inv.followed() {
		for _, err := range s.Refused() {
			if !reported[err.Error()] {
				reported[err.Error()] = true
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// followed returns, for each host, the passwords that other variables hold.
func (inv *Inventory) followed() (list []connection.Settings) {
	for _, h := range inv.everyHost() {
		if h.has(connection.Settings.Refers) {
			list = append(list, connection.Followed(h.appendSettings(nil), variablesOf{h}))
		}
	}
	return list
}

// Passwords lists all passwords in clear text, wherever they are set and whether or not a host gets them, so that the
// caller can hide them. It also lists the variables that a password of a host refers to.
func (inv *Inventory) Passwords() (texts []string) {
	for _, p := range inv.places() {
		texts = append(texts, p.settings.Passwords()...)
	}
	for _, s := range inv.followed() {
		texts = append(texts, s.Passwords()...)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// CheckJumps finds routes to hosts that lead nowhere: a jump host that is a group, or
// has a jump host, too. A name that the inventory does not know is an address.
// A place that several hosts get their route from is reported once.
func (inv *Inventory) CheckJumps(hosts ...*Host) yamlpos.Errors {
	c := jumpCheck{inv: inv, reported: map[*yamlpos.Node]bool{}, circles: map[string]bool{}}
	for _, h := range hosts {
		jumps, at := c.jumps(h)
		for _, jump := range jumps {
			if !c.reported[at] {
				c.jump(jump, at)
			}
		}
	}
	return c.errs
}

type jumpCheck struct {
	inv      *Inventory
	errs     yamlpos.Errors
	reported map[*yamlpos.Node]bool
	circles  map[string]bool // hosts of the circles that have been reported
}

// jump reports errors of one jump host; at is the place where the route is written.
func (c *jumpCheck) jump(jump JumpHost, at *yamlpos.Node) {
	next := c.inv.hostOf[jump.Host]
	further, _ := c.jumps(next)
	circle := c.circle(jump.Host)
	var err error
	switch {
	case next == nil && c.inv.groupOf[jump.Host] != nil:
		err = at.Errorf("write a host of this group in place of the group", "jump: %q is a group, not a host", jump.Host)
	case len(further) == 0, c.circles[jump.Host]:
		return
	case circle != nil:
		err = at.Errorf(fmt.Sprintf("remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host %s", circle[len(circle)-1]),
			"the jump hosts form a loop: %s", strings.Join(circle, " -> "))
	default:
		err = at.Errorf(fmt.Sprintf("write all jump hosts, in the order of connection: jump: %s,%s", join(further), jump),
			"jump host %s has a jump host, too", jump.Host)
	}
	c.errs.Add(err)
	c.reported[at] = true
	for _, name := range circle {
		c.circles[name] = true
	}
}

func join(jumps []JumpHost) string {
	texts := make([]string, len(jumps))
	for i, jump := range jumps {
		texts[i] = jump.String()
	}
	return strings.Join(texts, ",")
}

// circle follows the outermost jump host of a host, then the outermost jump host of that host, and so on. It returns
// the names of the circle in which this ends; nil if there is no circle.
func (c *jumpCheck) circle(name string) []string {
	var path []string
	seen := map[string]int{}
	for {
		path = append(path, name)
		if i, twice := seen[name]; twice {
			return path[i:]
		}
		seen[name] = len(seen)
		jumps, _ := c.jumps(c.inv.hostOf[name])
		if len(jumps) == 0 {
			return nil
		}
		name = jumps[0].Host
	}
}

// jumps returns the route to a host, and the node where it is written.
func (c *jumpCheck) jumps(h *Host) (jumps []JumpHost, at *yamlpos.Node) {
	if h == nil || !h.hasJump() {
		return nil, nil
	}
	return connection.Jump(h.appendSettings(nil))
}

// hasJump is quick for the many hosts that are reached directly.
func (h *Host) hasJump() bool {
	return h.has(connection.Settings.HasJump)
}

// has reports whether it is true of the settings in any of the host's places.
func (h *Host) has(what func(connection.Settings) bool) bool {
	return what(h.said.settings) ||
		slices.ContainsFunc(h.below.places, func(p place) bool { return what(p.settings) }) ||
		slices.ContainsFunc(h.files, func(f varFile) bool { return what(f.said.settings) })
}
