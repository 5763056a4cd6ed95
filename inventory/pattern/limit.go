package pattern

import (
	"fmt"
	"slices"
	"strings"
)

// Limit keeps those of hosts that a second pattern selects as well, in their
// order. The pattern is taken on its own, so indexes count over the whole
// inventory. A term @FILE stands for the terms in a file, see
// [Selector.LimitFile].
//
// If nothing is left the error wraps [ErrNothing], or with [Selector.AllowEmpty]
// there is a warning.
func (s Selector) Limit(hosts []int, pattern string) (left []int, warnings []string, err error) {
	terms, err := split(pattern)
	if err != nil {
		return nil, nil, err
	}
	if terms, err = s.withFiles(pattern, terms); err != nil {
		return nil, nil, err
	}
	selected, warnings, err := s.terms(pattern, terms)
	if err != nil || len(selected) == 0 {
		return nil, warnings, err
	}
	var kept set
	kept.add(selected)
	left = slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return !kept.has(h) })
	indexed := indexWarnings(terms)
	if len(left) == 0 {
		return s.none(&Error{
			Pattern: pattern, Msg: "the limit leaves no host of those selected", Hint: strings.Join(indexed, "\n  hint: "), nothing: true,
		})
	}
	return left, append(warnings, indexed...), nil
}

func indexWarnings(terms []string) (warnings []string) {
	for _, term := range terms {
		if subscriptOf(term) != nil && !strings.HasPrefix(strings.TrimLeft(term, "&!"), "~") {
			warnings = append(warnings, fmt.Sprintf("%q: in a limit an index counts over the inventory, not over the hosts selected", term))
		}
	}
	return warnings
}

// withFiles puts the lines of its file in the place of each term @FILE.
func (s Selector) withFiles(pattern string, terms []string) ([]string, error) {
	var all []string
	for _, term := range terms {
		path, isFile := strings.CutPrefix(term, "@")
		if !isFile {
			all = append(all, term)
			continue
		}
		lines, err := s.LimitFile(path)
		if err != nil {
			return nil, &Error{Pattern: pattern, Msg: err.Error()}
		}
		all = append(all, lines...)
	}
	return all, nil
}
