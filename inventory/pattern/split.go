package pattern

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
)

// fact is the beginning of terms that are kept for cached facts.
const fact = "fact:"

var factTerm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[,:\s])[&!]?` + fact) })

// recordedRun matches the beginning of a term about a recorded run: @last or @RUN, the id of a run. The state of the
// hosts follows, as in @last:failed.
var recordedRun = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@(last|[0-9A-Za-z]{26})$`)
})

// checkReserved refuses patterns with reserved terms. Patterns that cannot have one are
// passed without a search.
func checkReserved(pattern string) error {
	if strings.Contains(pattern, fact) && factTerm().MatchString(pattern) {
		return &Error{Pattern: pattern, Msg: fact + " is not supported yet"}
	}
	return nil
}

// split returns the terms of a pattern, none for the empty pattern.
func split(pattern string) ([]string, error) {
	if err := checkReserved(pattern); err != nil {
		return nil, err
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
		return nil, &Error{Pattern: pattern, Msg: "the bracket [ has no closing ]"}
	}
	terms := pieces[:0]
	for i := 0; i < len(pieces); i++ {
		piece := pieces[i]
		// The colon in @last:failed separates no terms.
		if i+1 < len(pieces) && strings.HasPrefix(piece, "@") && recordedRun().MatchString(piece) {
			i++
			piece += ":" + pieces[i]
		}
		switch piece = strings.TrimSpace(piece); piece {
		case "":
		case "&", "!", "~", "&~", "!~":
			return nil, &Error{Pattern: pattern, Msg: fmt.Sprintf("nothing follows %s", piece), Hint: "write " + piece + " and the name without a blank between them"}
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

var rangesInAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[([0-9A-Za-z]*)(?::[0-9A-Za-z:]*|[-,/][0-9][0-9,/-]*)\]`)
})

// isAddress reports whether a text with colons is one host: with a port, or an IPv6 address. Both may contain ranges or
// node sets.
func isAddress(s string) bool {
	if !strings.Contains(s, ":") {
		return false
	}
	host, port := SplitPort(s)
	host = rangesInAddress().ReplaceAllString(host, "$1")
	if port != "" && IsName(host) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}
