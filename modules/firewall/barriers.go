package firewall

import (
	"fmt"
	"slices"
	"strings"
)

// A gate is a chain of another program that drops packets unless a rule in it accepts them: an accepted packet must be
// accepted there, too. A gate is opened by one jump to a chain of our own in its table. Nothing else is added to it.
type gate struct {
	family, table, chain string
	blocks               bool   // drops other packets; otherwise only leftovers of ours are in it
	last                 bool   // the jump is at the end of the chain, so that the rules before it decide first
	open                 bool   // a jump to our chain exists where packets reach it
	jumps                []int  // handles of all existing jumps
	made                 bool   // our chain exists
	rules                []rule // rules of our chain
}

func (g gate) String() string { return g.family + " " + g.table + " " + g.chain }

// passes returns the rules that the gate must accept.
func (g gate) passes(rules []rule) []rule {
	var all []rule
	for _, r := range rules {
		if g.blocks && r.verdict == accept && (g.family == "inet" || r.family() == "" || r.family() == g.family) {
			all = append(all, r)
		}
	}
	return all
}

// foreign names the program that owns the chain, if that program would remove our jump; "" means none.
func (g gate) foreign() string {
	switch {
	case g.table == "firewalld":
		return "firewalld"
	case g.family != "inet" && g.table == "filter" && g.chain == "INPUT":
		return "iptables"
	}
	return ""
}

// gates finds the gates of a host.
func gates(chains []*chain) []gate {
	var all []gate
	for _, c := range chains {
		if c.Hook != "input" || c.Type != "filter" || c.Table == ours || !slices.Contains([]string{"inet", "ip", "ip6"}, c.Family) {
			continue
		}
		g := gate{family: c.Family, table: c.Table, chain: c.Name, blocks: c.Policy == drop, last: true}
		decided := false // no packet reaches the rules after this one
		for _, l := range c.rules {
			verdict, target, plain := l.verdict()
			switch {
			case target == ours:
				g.jumps = append(g.jumps, l.Handle)
				g.open = g.open || plain && !decided
			case decided || !plain:
			case verdict == drop, verdict == reject:
				decided, g.blocks, g.last = true, true, false
			case verdict == accept:
				decided, g.blocks = true, false
			}
		}
		for _, own := range chains {
			if own.Name == ours && own.Family == c.Family && own.Table == c.Table {
				g.made = true
				for _, l := range own.rules {
					g.rules = append(g.rules, l.rule())
				}
			}
		}
		if g.blocks || g.made || g.jumps != nil {
			all = append(all, g)
		}
	}
	return all
}

// maxBarriers bounds how many are named.
const maxBarriers = 5

// barriers names rules of others that may drop packets which r accepts. They are not changed.
func barriers(chains []*chain, all []gate, r rule) []string {
	var named []string
	for _, c := range chains {
		if c.Table == ours || c.Hook != "input" && c.Hook != "prerouting" {
			continue
		}
		i := slices.IndexFunc(all, func(g gate) bool { return g.blocks && g.family == c.Family && g.table == c.Table && g.chain == c.Name })
		isGate := i >= 0
		if c.Hook == "prerouting" && c.Policy == drop {
			named = append(named, fmt.Sprintf("the chain %s, which drops packets that none of its rules accepts", c))
		}
		if isGate && !all[i].last && !all[i].open {
			continue // the jump comes before all its rules
		}
		named = append(named, dropping(chains, c, r, isGate, maxDepth)...)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	if len(named) > maxBarriers {
		named = append(named[:maxBarriers], fmt.Sprintf("%d more", len(named)-maxBarriers))
	}
	return named
}

// maxDepth bounds how far jumps are followed: nftables allows 16.
const maxDepth = 16

// dropping names the rules of a chain, and of the chains that it leads to, that may drop packets of r.
func dropping(chains []*chain, c *chain, r rule, isGate bool, depth int) []string {
	var named []string
	for _, l := range c.rules {
		verdict, target, plain := l.verdict()
		switch {
		case target == ours:
			return named
		case !l.mayMatch(r):
		case (verdict == drop || verdict == reject) && (!plain || !isGate):
			named = append(named, "a rule of the chain "+c.String())
		case target != "" && depth > 0:
			for _, to := range chains {
				if to.Family == c.Family && to.Table == c.Table && to.Name == target {
					named = append(named, dropping(chains, to, r, false, depth-1)...)
				}
			}
		case plain && verdict == accept:
			return named
		}
	}
	return named
}

// mayMatch reports whether a listed rule may match the first packet of a connection that r matches. A rule that cannot
// be read may match.
func (l listed) mayMatch(r rule) bool {
	for _, m := range l.matches() {
		if m.Op != "==" && m.Op != "in" {
			continue
		}
		switch left := m.left(); left {
		case "ct state":
			if !slices.Contains(m.words(), "new") {
				return false
			}
		case "meta iifname", "meta iif":
			if words := m.words(); r.iface != "" && !slices.Contains(words, r.iface) || slices.Equal(words, []string{"lo"}) {
				return false
			}
		case "meta l4proto", "ip protocol", "ip6 nexthdr":
			if r.proto != "" && !slices.ContainsFunc(m.words(), func(word string) bool { return word == r.proto || word == protocolNumbers[r.proto] }) {
				return false
			}
		case "ip saddr", "ip6 saddr":
			if network, ok := m.network(); ok && r.source.IsValid() && !network.Overlaps(r.source) {
				return false
			}
			if family, _, _ := strings.Cut(left, " "); r.family() != "" && r.family() != family {
				return false
			}
		case "tcp dport", "udp dport", "th dport":
			proto, _, _ := strings.Cut(left, " ")
			if ports, ok := m.ports(); ok && r.ports != nil && !overlap(ports, r.ports) || r.proto != "" && proto != "th" && proto != r.proto {
				return false
			}
		case "icmp type", "icmpv6 type":
			if r.proto != "" {
				return false
			}
		}
	}
	return true
}

var protocolNumbers = map[string]string{tcp: "6", udp: "17"}

func overlap(a, b []span) bool {
	for _, x := range a {
		for _, y := range b {
			if x.first <= y.last && y.first <= x.last {
				return true
			}
		}
	}
	return false
}
