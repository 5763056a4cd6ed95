package pattern

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
)

// reserved are the terms that stand for recorded runs and cached facts.
var reserved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[,:\s])[&!]?(@last|@run|fact):`)
})

// checkReserved refuses patterns with reserved terms. Patterns that cannot have one are
// passed without a search.
func checkReserved(pattern string) error {
	if !strings.Contains(pattern, "@") && !strings.Contains(pattern, "fact:") {
		return nil
	}
	if m := reserved().FindStringSubmatch(pattern); m != nil {
		return &Error{Pattern: pattern, Msg: m[1] + ": is not supported yet"}
	}
	return nil
}

// split gives the terms of a pattern, none for the empty pattern.
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
		return nil, &Error{Pattern: pattern, Msg: "[ without ]"}
	}
	terms := pieces[:0]
	for _, piece := range pieces {
		switch piece = strings.TrimSpace(piece); piece {
		case "":
		case "&", "!", "~", "&~", "!~":
			return nil, &Error{Pattern: pattern, Msg: fmt.Sprintf("nothing stands behind %s", piece), Hint: "write " + piece + " and the name without a blank between them"}
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

// isAddress reports whether a text with colons is one host: with a port, or an
// IPv6 address, both maybe with ranges or node sets.
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
