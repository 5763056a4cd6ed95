package firewall

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A listing is the output of nft --json about the rules of a host (libnftables-json(5)).
type listing struct {
	Nftables []struct {
		Table *tableJSON `json:"table"`
		Chain *chain     `json:"chain"`
		Rule  *listed    `json:"rule"`
	} `json:"nftables"`
}

type tableJSON struct {
	Family string `json:"family"`
	Name   string `json:"name"`
}

// A chain is a chain of the host. It has a hook if packets enter it without a jump.
type chain struct {
	Family string          `json:"family"`
	Table  string          `json:"table"`
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Hook   string          `json:"hook"`
	Prio   json.RawMessage `json:"prio"`
	Policy string          `json:"policy"`

	rules []listed
}

func (c *chain) String() string { return c.Family + " " + c.Table + " " + c.Name }

// A listed rule is a rule in nft's output, statement by statement.
type listed struct {
	Family  string                       `json:"family"`
	Table   string                       `json:"table"`
	Chain   string                       `json:"chain"`
	Handle  int                          `json:"handle"`
	Comment string                       `json:"comment"`
	Expr    []map[string]json.RawMessage `json:"expr"`
}

// parseListing returns the chains of a host, with their rules.
func parseListing(text string) ([]*chain, error) {
	var l listing
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, modules.Refuse("cannot read the rules that nft lists: %w", err)
	}
	var all []*chain
	for _, of := range l.Nftables {
		if of.Chain != nil {
			all = append(all, of.Chain)
		}
	}
	for _, of := range l.Nftables {
		if r := of.Rule; r != nil {
			i := slices.IndexFunc(all, func(c *chain) bool { return c.Family == r.Family && c.Table == r.Table && c.Name == r.Chain })
			if i >= 0 {
				all[i].rules = append(all[i].rules, *r)
			}
		}
	}
	return all, nil
}

// A match is one condition of a rule.
type match struct {
	Op   string `json:"op"`
	Left struct {
		Payload struct {
			Protocol string `json:"protocol"`
			Field    string `json:"field"`
		} `json:"payload"`
		Meta struct {
			Key string `json:"key"`
		} `json:"meta"`
		CT struct {
			Key string `json:"key"`
		} `json:"ct"`
	} `json:"left"`
	Right json.RawMessage `json:"right"`
}

// left names the left side of a match: "tcp dport", "meta iifname", "ct state"; "" means something else.
func (m match) left() string {
	switch l := m.Left; {
	case l.Payload.Protocol != "":
		return l.Payload.Protocol + " " + l.Payload.Field
	case l.Meta.Key != "":
		return "meta " + l.Meta.Key
	case l.CT.Key != "":
		return "ct " + l.CT.Key
	}
	return ""
}

// ports reads the ports of the right side.
func (m match) ports() ([]span, bool) {
	var all []span
	for _, one := range m.values() {
		var port uint16
		var ends struct {
			Range []uint16 `json:"range"`
		}
		switch {
		case json.Unmarshal(one, &port) == nil:
			all = append(all, span{port, port})
		case json.Unmarshal(one, &ends) == nil && len(ends.Range) == 2:
			all = append(all, span{ends.Range[0], ends.Range[1]})
		default:
			return nil, false
		}
	}
	return merged(all), len(all) > 0
}

// values are the values of the right side, one or a set.
func (m match) values() []json.RawMessage {
	var set struct {
		Set []json.RawMessage `json:"set"`
	}
	var list []json.RawMessage
	switch {
	case json.Unmarshal(m.Right, &set) == nil && set.Set != nil:
		return set.Set
	case json.Unmarshal(m.Right, &list) == nil:
		return list
	}
	return []json.RawMessage{m.Right}
}

// words are the texts of the right side.
func (m match) words() []string {
	var all []string
	for _, one := range m.values() {
		var word string
		if json.Unmarshal(one, &word) != nil {
			word = string(one)
		}
		all = append(all, word)
	}
	return all
}

// network reads an address or a network.
func (m match) network() (netip.Prefix, bool) {
	var in struct {
		Prefix struct {
			Addr string `json:"addr"`
			Len  int    `json:"len"`
		} `json:"prefix"`
	}
	text := ""
	switch {
	case json.Unmarshal(m.Right, &text) == nil:
	case json.Unmarshal(m.Right, &in) == nil && in.Prefix.Addr != "":
		text = fmt.Sprintf("%s/%d", in.Prefix.Addr, in.Prefix.Len)
	}
	source, err := parseSource(text)
	return source, err == nil
}

// matches are the conditions of a rule.
func (l listed) matches() []match {
	var all []match
	for _, statement := range l.Expr {
		var m match
		if of, ok := statement["match"]; ok && json.Unmarshal(of, &m) == nil {
			all = append(all, m)
		}
	}
	return all
}

// rule reads a rule of ours. It sets other for a rule that this package does not write.
func (l listed) rule() rule {
	r := rule{name: l.Comment}
	for _, statement := range l.Expr {
		for what, of := range statement {
			var m match
			if what == "match" && json.Unmarshal(of, &m) == nil && m.Op == "==" && r.takes(m) {
				continue
			}
			if (what == accept || what == drop || what == reject) && r.verdict == "" {
				r.verdict = what
				continue
			}
			r.other = true
		}
	}
	return r
}

// takes adds a condition to a rule, if it can have that.
func (r *rule) takes(m match) (ok bool) {
	switch left := m.left(); left {
	case "meta iifname":
		words := m.words()
		r.iface = words[0]
		return len(words) == 1
	case "ip saddr", "ip6 saddr":
		r.source, ok = m.network()
		return ok
	case "tcp dport", "udp dport":
		r.proto, _, _ = strings.Cut(left, " ")
		r.ports, ok = m.ports()
		return ok
	}
	return false
}

// verdict is the verdict of a rule on all packets that match its conditions; empty if the next rule decides. plain
// means that it has no conditions. target is the chain of a jump.
func (l listed) verdict() (verdict, target string, plain bool) {
	plain = true
	for _, statement := range l.Expr {
		for what, of := range statement {
			switch what {
			case accept, drop, reject, "return", "continue", "queue":
				verdict = what
			case "jump", "goto":
				var to struct {
					Target string `json:"target"`
				}
				_ = json.Unmarshal(of, &to) // otherwise it jumps to no chain
				verdict, target = what, to.Target
			case "counter", "log":
			default:
				plain = false
			}
		}
	}
	return verdict, target, plain
}
