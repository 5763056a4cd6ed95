package pattern

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/source"
)

// Limit keeps those of hosts that a second pattern selects as well, in their
// order. The pattern is taken on its own, so indexes count over the whole
// inventory. A term @FILE stands for the terms in a file, one a line; empty
// lines and lines that begin with # do not count.
//
// If nothing is left the error wraps [ErrNothing], or with [Selector.AllowEmpty]
// there is a warning.
func (s Selector) Limit(hosts []int, pattern string) (left []int, warnings []string, err error) {
	terms, err := split(pattern)
	if err != nil {
		return nil, nil, err
	}
	if terms, err = withFiles(pattern, terms); err != nil {
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

func withFiles(pattern string, terms []string) ([]string, error) {
	var all []string
	for _, term := range terms {
		path, isFile := strings.CutPrefix(term, "@")
		if !isFile {
			all = append(all, term)
			continue
		}
		lines, err := limitFile(path)
		if err != nil {
			return nil, &Error{Pattern: pattern, Msg: err.Error()}
		}
		all = append(all, lines...)
	}
	return all, nil
}

func limitFile(path string) ([]string, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no such file: %s", path)
	case err != nil:
		return nil, source.Error(path, err)
	}
	defer f.Close()
	data, err := source.ReadAll(f, path)
	if err != nil {
		return nil, err
	}
	if len(data) == source.MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, source.MaxBytes>>20)
	}
	var terms []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			terms = append(terms, line)
		}
	}
	return terms, nil
}
