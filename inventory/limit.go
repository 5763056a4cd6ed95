package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Limit keeps those of hosts that a second pattern selects as well, in their
// order. The pattern is taken on its own, so indexes count over the whole
// inventory. A term @FILE stands for the terms in a file, one a line; empty
// lines and lines that begin with # do not count.
//
// If nothing is left the error wraps [ErrNothing], or with [Options.AllowEmpty]
// there is a warning.
func (inv *Inventory) Limit(hosts []*Host, pattern string) (left []*Host, warnings []string, err error) {
	terms, err := splitPattern(pattern)
	if err != nil {
		return nil, nil, err
	}
	if terms, err = withFiles(pattern, terms); err != nil {
		return nil, nil, err
	}
	selected, warnings, err := inv.selectTerms(pattern, terms)
	if err != nil || len(selected) == 0 {
		return nil, warnings, err
	}
	var set hostSet
	set.add(selected)
	left = slices.DeleteFunc(slices.Clone(hosts), func(h *Host) bool { return !set.has(h) })
	indexed := indexWarnings(terms)
	if len(left) == 0 {
		return inv.none(&PatternError{
			Pattern: pattern, Msg: "the limit leaves no host of those selected", Hint: strings.Join(indexed, "\n  hint: "), nothing: true,
		})
	}
	return left, append(warnings, indexed...), nil
}

func indexWarnings(terms []string) (warnings []string) {
	for _, term := range terms {
		if subscriptForm.MatchString(term) && !strings.HasPrefix(strings.TrimLeft(term, "&!"), "~") {
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
			return nil, &PatternError{Pattern: pattern, Msg: err.Error()}
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
		return nil, reading(path, err)
	}
	defer f.Close()
	data, err := readAll(f, path)
	if err != nil {
		return nil, err
	}
	if len(data) == maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
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
