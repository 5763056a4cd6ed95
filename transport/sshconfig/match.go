package sshconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// matchPattern reports whether s matches a pattern with * and ?.
func matchPattern(s, pattern string) bool {
	star, from := -1, 0 // the last *, and the end of the text that it matches
	i, j := 0, 0
	for i < len(s) {
		switch {
		case j < len(pattern) && pattern[j] == '*':
			star, from = j, i
			j++
		case j < len(pattern) && (pattern[j] == '?' || pattern[j] == s[i]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[j:], "*") == ""
}

// matchList reports whether s matches one of the patterns, which commas separate, and none of the patterns that begin
// with !.
func matchList(s, patterns string) bool {
	matched := false
	for pattern := range strings.SplitSeq(patterns, ",") {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if matchPattern(s, pattern) {
			if negated {
				return false
			}
			matched = true
		}
	}
	return matched
}

// matchHost is matchList for host names, which have no case.
func matchHost(host, patterns string) bool { return matchList(lower(host), lower(patterns)) }

// A condition holds the criteria of a Host or Match line.
type condition struct {
	patterns []string    // of Host
	criteria []criterion // of Match
	at       string
}

type criterion struct {
	name    string
	negated bool
	arg     string
}

// literals are the only names that the patterns of a Host line can match; ok is
// false if there are other ones.
func (c *condition) literals() (names []string, ok bool) {
	if c.criteria != nil {
		return nil, false
	}
	for _, p := range c.patterns {
		switch {
		case strings.HasPrefix(p, "!"):
		case strings.ContainsAny(p, "*?"):
			return nil, false
		default:
			names = append(names, p)
		}
	}
	return names, true
}

func (c *condition) wantsFinal() bool {
	return slices.ContainsFunc(c.criteria, func(one criterion) bool { return one.name == "final" })
}

// parseHost reads the patterns of a Host line.
func parseHost(rest string) (*condition, error) {
	words, ok := splitWords(rest)
	switch {
	case !ok:
		return nil, errQuotes
	case slices.Contains(words, ""):
		return nil, errMissing
	}
	return &condition{patterns: words}, nil
}

// alone are the criteria without an argument; the others take one.
var (
	alone    = []string{"all", "canonical", "final"}
	withWord = []string{"host", "originalhost", "user", "localuser", "exec", "tagged", "localnetwork"}
)

// parseMatch reads the criteria of a Match line. Their words end as a keyword does,
// so that host=web* is as good as host web*.
func parseMatch(rest string) (*condition, error) {
	if _, ok := splitWords(rest); !ok {
		return nil, errQuotes
	}
	c := &condition{}
	for {
		word, after, ok := delim(rest)
		switch {
		case !ok, ok && word == "" && after == "", strings.HasPrefix(word, "#"):
			if len(c.criteria) == 0 {
				return nil, errors.New("a criterion is missing")
			}
			return c, nil
		case word == "":
			return nil, fmt.Errorf("%q follows the criteria", after)
		}
		name, negated := strings.CutPrefix(word, "!")
		one := criterion{name: lower(name), negated: negated}
		if slices.Contains(alone, one.name) {
			c.criteria, rest = append(c.criteria, one), after
			if one.name == "all" {
				return c, checkAll(c, after)
			}
			continue
		}
		if one.arg, rest, ok = delim(after); !ok || one.arg == "" || one.arg[0] == '#' {
			return nil, fmt.Errorf("%s lacks its argument", one.name)
		}
		if err := one.check(); err != nil {
			return nil, err
		}
		c.criteria = append(c.criteria, one)
	}
}

// checkAll follows ssh, which allows one criterion before all, for canonical and final.
func checkAll(c *condition, rest string) error {
	word, after, _ := delim(rest)
	comment := strings.HasPrefix(word, "#")
	if len(c.criteria) > 2 || !comment && (word != "" || after != "") {
		return errors.New(`"all" cannot be combined with other criteria`)
	}
	return nil
}

func (c criterion) check() error {
	if !slices.Contains(withWord, c.name) {
		return fmt.Errorf("unknown criterion %q", c.name)
	}
	if c.name == "localnetwork" {
		for one := range strings.SplitSeq(c.arg, ",") {
			if _, err := parseNetwork(strings.TrimPrefix(one, "!")); err != nil {
				return fmt.Errorf("localnetwork: %q is not an address or network", one)
			}
		}
	}
	return nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// matchNetworks reports whether an address is in one of the networks, which commas separate, and in none of the
// networks that begin with !.
func matchNetworks(addrs []netip.Addr, networks string) bool {
	matched := false
	for one := range strings.SplitSeq(networks, ",") {
		text, negated := strings.CutPrefix(one, "!")
		network, err := parseNetwork(text)
		if err == nil && slices.ContainsFunc(addrs, network.Contains) {
			if negated {
				return false
			}
			matched = true
		}
	}
	return matched
}

// holds decides the condition as far as the pass has come.
func (p *pass) holds(c *condition) (bool, error) {
	if c.criteria == nil {
		return hostLine(p.host, c.patterns), nil
	}
	for _, one := range c.criteria {
		matched, err := p.meets(c, one)
		if err != nil || matched == one.negated {
			return false, err
		}
	}
	return true, nil
}

// hostLine decides a Host line, where unlike in the lists of Match the case counts.
func hostLine(host string, patterns []string) bool {
	matched := false
	for _, pattern := range patterns {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if matchPattern(host, pattern) {
			if negated {
				return false
			}
			matched = true
		}
	}
	return matched
}

func (p *pass) meets(c *condition, one criterion) (bool, error) {
	switch one.name {
	case "all":
		return true, nil
	case "canonical", "final":
		return p.final, nil
	case "host":
		host, err := p.target()
		return matchHost(host, one.arg), err
	case "originalhost":
		return matchHost(p.original, one.arg), nil
	case "user":
		return matchList(p.login(), one.arg), nil
	case "localuser":
		return matchList(p.config.env.LocalUser, one.arg), nil
	case "tagged":
		return matchList(p.set.Text(Tag), one.arg), nil
	case "localnetwork":
		return matchNetworks(p.config.addresses(), one.arg), nil
	}
	return p.exec(c, one)
}

// exec runs the command of a criterion if that is allowed. Otherwise the line does not match, with ! or without.
func (p *pass) exec(c *condition, one criterion) (bool, error) {
	if p.config.env.Exec == nil {
		p.set.warn("%s: Match exec is not allowed to run its command, so the lines after it are ignored", c.at)
		return one.negated, nil
	}
	host, err := p.target()
	if err != nil {
		return false, err
	}
	command, err := p.tokens(host).expand(c.at, "Match exec", one.arg, commonTokens, false, true)
	if err != nil {
		return false, err
	}
	ok, err := p.config.run(command)
	if err != nil {
		return false, &Error{At: c.at, Msg: fmt.Sprintf("Match exec: %v", err)}
	}
	return ok, nil
}
