package inventory

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Hop is a host on the way to another one.
type Hop struct {
	User string // "" if the hop does not say
	Host string // a host of the inventory, or a name or address
	Port int    // 1 to 65535, or 0 if the hop does not say
}

// Place is host or host:port.
func (h Hop) Place() string {
	if h.Port == 0 {
		return h.Host
	}
	return net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
}

// String is [user@]host[:port].
func (h Hop) String() string {
	if h.User == "" {
		return h.Place()
	}
	return h.User + "@" + h.Place()
}

const hopHint = "write [user@]host[:port], several of them with commas, outermost first"

// parseHops reads the value of jump: none, or [user@]host[:port],... as the
// ProxyJump of ssh_config(5) has it.
func parseHops(name, text string) ([]Hop, error) {
	if text == "none" {
		return nil, nil
	}
	var hops []Hop
	for one := range strings.SplitSeq(text, ",") {
		hop, err := parseHop(name, one)
		if err != nil {
			return nil, err
		}
		hops = append(hops, hop)
	}
	return hops, nil
}

func parseHop(name, text string) (Hop, error) {
	var hop Hop
	rest := text
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		hop.User, rest = text[:i], text[i+1:]
		if hop.User == "" {
			return hop, badValue(hopHint, "%s: %q has no user before @", name, text)
		}
		if err := checkWord(name+": user", hop.User); err != nil {
			return hop, err
		}
	}
	host, port := splitPort(rest)
	hop.Host = host
	if !nodeset.IsName(host) || strings.Contains(host, ":") && !isIPv6(host) {
		return hop, badValue(hopHint, "%s: %q is no host", name, rest)
	}
	if port == "" {
		return hop, nil
	}
	var err error
	hop.Port, err = parsePort(name+": port", port)
	return hop, err
}

// checkJumps finds the ways that lead nowhere: a jump host that is a group, or
// has a jump host of its own. A name that the inventory does not know is an
// address. What several hosts get from one place is reported once.
func (b *builder) checkJumps() {
	c := jumpCheck{builder: b, reported: map[*yamlpos.Node]bool{}, circles: map[string]bool{}}
	for _, h := range b.inv.hosts {
		hops, at := c.hops(h)
		for _, hop := range hops {
			if !c.reported[at] {
				c.hop(hop, at)
			}
		}
	}
}

type jumpCheck struct {
	*builder
	reported map[*yamlpos.Node]bool
	circles  map[string]bool // hosts of those that have been reported
}

// hop reports what is wrong with one hop of a way that is written at a place.
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
	var conn Connection
	for _, s := range h.settings() {
		for _, f := range s.fields {
			if f.key == "jump" {
				f.set(&conn)
				at = s.at
			}
		}
	}
	return conn.Jump, at
}

// hasJump is a cheap answer for the many hosts that are reached directly.
func (h *Host) hasJump() bool {
	for p := range h.places() {
		for _, s := range p.layer.settings {
			if slices.ContainsFunc(s.fields, func(f field) bool { return f.key == "jump" }) {
				return true
			}
		}
	}
	return false
}
