package inventory

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
)

// ErrNothing is wrapped by the error of a pattern that is understood but
// selects no host.
var ErrNothing = errors.New("no host is selected")

// A PatternError says why a pattern is refused or selects nothing; errors.Is
// with [ErrNothing] tells the one from the other.
type PatternError struct {
	Pattern string // as it was typed
	Msg     string
	Hint    string // may be empty
	nothing bool
}

func (e *PatternError) Error() string {
	s := fmt.Sprintf("pattern %q: %s", e.Pattern, e.Msg)
	if e.Hint != "" {
		s += "\n  hint: " + e.Hint
	}
	return s
}

// Unwrap gives [ErrNothing] if the pattern only selects nothing.
func (e *PatternError) Unwrap() error {
	if e.nothing {
		return ErrNothing
	}
	return nil
}

// Select gives the hosts that a pattern means, each once, in Ansible's order.
// Terms are separated by commas, or by colons or blanks if there is no comma:
// web (a group or a host), web* (groups and hosts), ~web\d+ (a regex, anchored
// at the start), web[0], web[-1], web[1:3] and web[2:] (by index), rack[1:9]-a
// (a range of names), web[1-3,7] (a node set). &web keeps only hosts of web,
// !web drops them; both apply after all other terms, of which there is all if
// none is given. Other than with Ansible, an empty pattern is not all.
//
// The warnings name the terms that match nothing, with a hint; they are an error
// with [Options.StrictPatterns]. A pattern that selects nothing is an error that
// wraps [ErrNothing], or a warning with [Options.AllowEmpty].
func (inv *Inventory) Select(pattern string) (hosts []*Host, warnings []string, err error) {
	terms, err := splitPattern(pattern)
	if err != nil {
		return nil, nil, err
	}
	return inv.selectTerms(pattern, terms)
}

func (inv *Inventory) selectTerms(pattern string, terms []string) ([]*Host, []string, error) {
	if len(terms) == 0 { // a variable that was not set, or a file that holds nothing
		return inv.none(&PatternError{Pattern: pattern, Msg: "the pattern is empty", Hint: "write all for every host", nothing: true})
	}
	m := matcher{inv: inv}
	hosts, err := m.combine(terms)
	if err != nil {
		return nil, nil, inPattern(pattern, err)
	}
	if len(hosts) == 0 {
		return inv.none(m.nothing(pattern))
	}
	if inv.options.StrictPatterns && len(m.misses) > 0 {
		return nil, nil, &PatternError{Pattern: pattern, Msg: m.misses[0].msg, Hint: m.misses[0].hint}
	}
	warnings := make([]string, len(m.misses))
	for i, miss := range m.misses {
		warnings[i] = miss.String()
	}
	return hosts, warnings, nil
}

// none is the answer for a pattern that selects nothing.
func (inv *Inventory) none(err *PatternError) ([]*Host, []string, error) {
	if inv.options.AllowEmpty {
		return nil, []string{err.Error()}, nil
	}
	return nil, nil, err
}

// inPattern turns what is wrong with a term into a PatternError.
func inPattern(pattern string, err error) error {
	e := &PatternError{Pattern: pattern, Msg: err.Error()}
	if te, ok := errors.AsType[*textError](err); ok {
		e.Hint = te.hint
	}
	return e
}

// A matcher evaluates the terms of one pattern.
type matcher struct {
	inv    *Inventory
	misses []miss
}

// A miss is something that was asked for and is not there.
type miss struct{ msg, hint string }

func (m miss) String() string {
	if m.hint == "" {
		return m.msg
	}
	return m.msg + "; " + m.hint
}

func (m *matcher) nothing(pattern string) *PatternError {
	e := &PatternError{Pattern: pattern, Msg: "selects no host", nothing: true}
	if len(m.inv.hosts) == 0 {
		e.Msg = "the inventory has no hosts"
		return e
	}
	for i, miss := range m.misses {
		if i == 0 {
			e.Msg, e.Hint = "selects no host: ", miss.hint
		} else {
			e.Msg += ", "
		}
		e.Msg += miss.msg
	}
	return e
}

// combine joins what the plain terms mean, keeps what the & terms mean and
// drops what the ! terms mean, whatever order they stand in.
func (m *matcher) combine(terms []string) ([]*Host, error) {
	plain, keep, drop := sortTerms(terms)
	var selected hostSet
	for _, term := range plain {
		hosts, err := m.term(term)
		if err != nil {
			return nil, inTerm(terms, term, err)
		}
		selected.add(hosts)
	}
	list := selected.list
	for i, term := range slices.Concat(keep, drop) {
		hosts, err := m.term(term)
		if err != nil {
			return nil, inTerm(terms, term, err)
		}
		var named hostSet
		named.add(hosts)
		kept := i < len(keep)
		list = slices.DeleteFunc(list, func(h *Host) bool { return named.has(h) != kept })
	}
	return list, nil
}

// inTerm says which of several terms an error is about.
func inTerm(terms []string, term string, err error) error {
	te, ok := errors.AsType[*textError](err)
	if !ok || len(terms) < 2 {
		return err
	}
	return &textError{fmt.Sprintf("%s: %s", term, te.msg), te.hint}
}

func sortTerms(terms []string) (plain, keep, drop []string) {
	for _, term := range terms {
		switch term[0] {
		case '&':
			keep = append(keep, term[1:])
		case '!':
			drop = append(drop, term[1:])
		default:
			plain = append(plain, term)
		}
	}
	if plain == nil {
		plain = []string{allGroup}
	}
	return plain, keep, drop
}

// reserved are the terms that stand for recorded runs and cached facts.
var reserved = regexp.MustCompile(`(?:^|[,:\s])[&!]?(@last|@run|fact):`)

// splitPattern gives the terms of a pattern, none for the empty pattern.
func splitPattern(pattern string) ([]string, error) {
	if m := reserved.FindStringSubmatch(pattern); m != nil {
		return nil, &PatternError{Pattern: pattern, Msg: m[1] + ": is not supported yet"}
	}
	var pieces []string
	ok := true
	switch {
	case strings.Contains(pattern, ","):
		pieces, ok = splitOutside(pattern, ",")
	case isAddress(strings.TrimLeft(strings.TrimSpace(pattern), "&!")):
		pieces = []string{pattern}
	default:
		pieces, ok = splitOutside(pattern, ": \t\n\r")
	}
	if !ok {
		return nil, &PatternError{Pattern: pattern, Msg: "[ without ]"}
	}
	terms := pieces[:0]
	for _, piece := range pieces {
		switch piece = strings.TrimSpace(piece); piece {
		case "":
		case "&", "!", "~", "&~", "!~":
			return nil, &PatternError{Pattern: pattern, Msg: fmt.Sprintf("nothing stands behind %s", piece), Hint: "write " + piece + " and the name without a blank between them"}
		default:
			terms = append(terms, piece)
		}
	}
	return terms, nil
}

// splitOutside splits at any of the separators that are not within brackets. A
// backslash, which only regexes have, takes the meaning off a bracket. ok is
// false if a bracket stays open.
func splitOutside(s, separators string) (pieces []string, ok bool) {
	start, within := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '[':
			within = true
		case c == ']':
			within = false
		case !within && strings.IndexByte(separators, c) >= 0:
			pieces = append(pieces, s[start:i])
			start = i + 1
		}
	}
	return append(pieces, s[start:]), !within
}

var rangesInAddress = regexp.MustCompile(`\[([0-9A-Za-z]*)(?::[0-9A-Za-z:]*|[-,/][0-9][0-9,/-]*)\]`)

// isAddress reports whether a text with colons is one host: with a port, or an
// IPv6 address, both maybe with ranges or node sets.
func isAddress(s string) bool {
	host, port := splitPort(s)
	if port != "" && nodeset.IsName(rangesInAddress.ReplaceAllString(host, "$1")) {
		return true
	}
	_, err := netip.ParseAddr(rangesInAddress.ReplaceAllString(host, "$1"))
	return err == nil
}
