package events

import (
	"sort"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// Fold writes hosts as a pattern of at most width runes, see [pattern.Fold]. If they
// do not all fit, it has the first of them, at least one, and rest counts the others.
func Fold(hosts []string, width int) (folded string, rest int) {
	clean := make([]string, 0, len(hosts)) // a node set has no control characters
	for _, h := range hosts {
		clean = append(clean, Line(h))
	}
	hosts = clean
	folded = pattern.Fold(hosts)
	if len(hosts) < 2 || utf8.RuneCountInString(folded) <= width {
		return folded, 0
	}
	// A pattern of more hosts can be a little shorter, so this finds one that fits but
	// perhaps not the longest.
	n := 1 + sort.Search(len(hosts)-1, func(i int) bool {
		return utf8.RuneCountInString(pattern.Fold(hosts[:i+2])) > width
	})
	return pattern.Fold(hosts[:n]), len(hosts) - n
}
