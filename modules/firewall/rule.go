package firewall

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A rule is a rule for incoming packets.
type rule struct {
	name    string
	iface   string       // "" is any
	source  netip.Prefix // the zero one is anywhere
	proto   string       // tcp or udp; "" with no ports
	ports   []span       // none are all
	verdict string
	other   bool // nft lists something in its place that cannot be read
}

// family is the family of the packets that it can match: "ip", "ip6", or "" for both.
func (r rule) family() string {
	switch {
	case !r.source.IsValid():
		return ""
	case r.source.Addr().Is4():
		return "ip"
	}
	return "ip6"
}

// String is the rule as nft reads and writes it.
func (r rule) String() string {
	var b strings.Builder
	if r.iface != "" {
		fmt.Fprintf(&b, "iifname %q ", r.iface)
	}
	if r.source.IsValid() {
		source := r.source.String()
		if r.source.IsSingleIP() {
			source = r.source.Addr().String()
		}
		fmt.Fprintf(&b, "%s saddr %s ", r.family(), source)
	}
	switch parts := portTexts(r.ports); len(parts) {
	case 0:
	case 1:
		fmt.Fprintf(&b, "%s dport %s ", r.proto, parts[0])
	default:
		fmt.Fprintf(&b, "%s dport { %s } ", r.proto, strings.Join(parts, ", "))
	}
	if r.other {
		b.WriteString("something else ")
	}
	fmt.Fprintf(&b, "%s comment \"%s\"", r.verdict, r.name)
	return b.String()
}

func portTexts(ports []span) []string {
	var all []string
	for _, s := range ports {
		text := fmt.Sprint(s.first)
		if s.last > s.first {
			text += fmt.Sprint("-", s.last)
		}
		all = append(all, text)
	}
	return all
}

// parseRule reads the output of String.
func parseRule(text string) (rule, bool) {
	var r rule
	text, comment, ok := strings.Cut(text, ` comment "`)
	r.name = strings.TrimSuffix(comment, `"`)
	words := strings.Fields(text)
	next := func() string {
		if len(words) == 0 {
			return ""
		}
		word := words[0]
		words = words[1:]
		return word
	}
	word := next()
	if word == "iifname" {
		r.iface = strings.Trim(next(), `"`)
		word = next()
	}
	if word == "ip" || word == "ip6" {
		var err error
		if r.source, err = sourceOf(next(), next()); err != nil {
			return rule{}, false
		}
		word = next()
	}
	if word == tcp || word == udp {
		r.proto = word
		dport, ports := next(), next()
		if ports == "{" {
			ports = ""
			for word = next(); word != "}" && word != ""; word = next() {
				ports += word
			}
		}
		spans, err := parsePorts(ports)
		if dport != "dport" || err != nil {
			return rule{}, false
		}
		r.ports = spans
		word = next()
	}
	r.verdict = word
	return r, ok && len(words) == 0 && r.String() == text+` comment "`+comment
}

// sourceOf reads the text after ip or ip6.
func sourceOf(saddr, text string) (netip.Prefix, error) {
	if saddr != "saddr" {
		return netip.Prefix{}, fmt.Errorf("%q is not a saddr", saddr)
	}
	return parseSource(text)
}

// merged are ports in order, as few spans as they can be.
func merged(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	var out []span
	for _, s := range all {
		if last := len(out) - 1; last >= 0 && int(s.first) <= int(out[last].last)+1 {
			out[last].last = max(out[last].last, s.last)
			continue
		}
		out = append(out, s)
	}
	return out
}

// ordered sorts rules by precedence: a narrower source comes first, then a rule that is bound to an interface, then a
// rule that accepts nothing.
func ordered(rules []rule) []rule {
	bits := func(r rule) int {
		if !r.source.IsValid() {
			return -1
		}
		return r.source.Bits()
	}
	rank := func(so bool) int {
		if so {
			return 1
		}
		return 0
	}
	slices.SortFunc(rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(bits(b), bits(a)), rank(a.iface == "")-rank(b.iface == ""), rank(a.verdict == accept)-rank(b.verdict == accept), strings.Compare(a.String(), b.String()))
	})
	return slices.CompactFunc(rules, func(a, b rule) bool { return a.String() == b.String() })
}

// named returns the rules of a name.
func named(rules []rule, name string) []rule {
	var all []rule
	for _, r := range rules {
		if r.name == name {
			all = append(all, r)
		}
	}
	return all
}

// with returns the rules, with these as the rules of a name.
func with(rules []rule, name string, these []rule) []rule {
	all := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.name == name })
	return ordered(append(all, these...))
}

func texts(rules []rule) []string {
	all := []string{}
	for _, r := range rules {
		all = append(all, r.String())
	}
	return all
}
