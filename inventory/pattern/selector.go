package pattern

import (
	"fmt"
	"slices"
	"strings"
)

// A Selector selects hosts of one fleet.
type Selector struct {
	Hosts, Groups Names
	// Members lists the hosts of a group, first its own, then the hosts of its child groups. A host that several groups
	// list is repeated.
	Members func(group int) []int
	// Local is the host that [LocalNames] mean if no host or group has the name. If it is
	// empty they mean no host.
	Local []int

	// LimitFile returns the terms in the file of a limit's term @FILE.
	LimitFile func(path string) (terms []string, err error)
	// LimitRun returns the hosts for a term @RUN:STATE of a limit: the hosts that ended in this state in a recorded
	// run. run is an id or last. nil knows no runs.
	LimitRun func(run, state string) (hosts []string, err error)

	// AllowEmpty makes it a warning instead of an error that a pattern selects nothing.
	AllowEmpty bool
	// Strict makes it an error that a term matches nothing, even if other terms match.
	Strict bool
}

// Names are the names of all hosts or all groups, in the order in which globs and expressions find them.
type Names interface {
	Len() int
	At(i int) string
	Find(name string) (i int, ok bool)
}

// LocalNames are the names that this machine has everywhere.
var LocalNames = []string{"localhost", "127.0.0.1", "::1"}

// Select returns the hosts that a pattern selects, each once, in Ansible's order, and a warning for each term that
// matches nothing. The error is [Error].
func (s Selector) Select(pattern string) (hosts []int, warnings []string, err error) {
	terms, err := split(pattern)
	if err != nil {
		return nil, nil, err
	}
	for _, term := range terms {
		if run, _, _ := strings.Cut(strings.TrimLeft(term, "&!"), ":"); recordedRun().MatchString(run) {
			return nil, nil, &Error{Pattern: pattern, Msg: term + ": hosts of a recorded run can only limit a pattern", Hint: "write: all --limit " + term}
		}
	}
	return s.terms(pattern, terms)
}

func (s Selector) terms(pattern string, terms []string) ([]int, []string, error) {
	if len(terms) == 0 { // a variable that was not set, or a file that holds nothing
		return s.none(&Error{Pattern: pattern, Msg: "the pattern is empty", Hint: "write all for every host", nothing: true})
	}
	m := matcher{Selector: s}
	hosts, err := m.combine(terms)
	if err != nil {
		return nil, nil, inPattern(pattern, err)
	}
	if len(hosts) == 0 {
		return s.none(m.nothing(pattern))
	}
	if s.Strict && len(m.misses) > 0 {
		return nil, nil, &Error{Pattern: pattern, Msg: m.misses[0].msg, Hint: m.misses[0].hint}
	}
	warnings := make([]string, len(m.misses))
	for i, miss := range m.misses {
		warnings[i] = miss.String()
	}
	return hosts, warnings, nil
}

// none returns the answer for a pattern that selects nothing.
func (s Selector) none(err *Error) ([]int, []string, error) {
	if s.AllowEmpty {
		return nil, []string{err.Error()}, nil
	}
	return nil, nil, err
}

// Limit keeps the hosts that a second pattern also selects, in their order. The pattern is evaluated on its own, so
// indexes count over the whole inventory. A term @FILE is replaced by the terms in a file, see [Selector.LimitFile],
// and one such as @last:failed by hosts of a recorded run, see [Selector.LimitRun].
//
// If no host remains the error wraps [ErrNothing], or with [Selector.AllowEmpty] there is a warning.
func (s Selector) Limit(hosts []int, pattern string) (remaining []int, warnings []string, err error) {
	terms, err := split(pattern)
	if err != nil {
		return nil, nil, err
	}
	named := len(terms) > 0
	if terms, err = s.withFiles(pattern, terms); err != nil {
		return nil, nil, err
	}
	if named && len(terms) == 0 { // there is no failed host, or a file is empty
		return s.none(&Error{Pattern: pattern, Msg: "the run has no such host, or the file is empty", nothing: true})
	}
	selected, warnings, err := s.terms(pattern, terms)
	if err != nil || len(selected) == 0 {
		return nil, warnings, err
	}
	var kept set
	kept.add(selected)
	remaining = slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return !kept.has(h) })
	indexed := indexWarnings(terms)
	if len(remaining) == 0 {
		return s.none(&Error{
			Pattern: pattern, Msg: "the limit excludes all selected hosts", Hint: strings.Join(indexed, "\n  hint: "), nothing: true,
		})
	}
	return remaining, append(warnings, indexed...), nil
}

func indexWarnings(terms []string) (warnings []string) {
	for _, term := range terms {
		if subscriptOf(term) != nil && !strings.HasPrefix(strings.TrimLeft(term, "&!"), "~") {
			warnings = append(warnings, fmt.Sprintf("pattern %q: in a limit, an index counts all hosts of the inventory, not the selected hosts", term))
		}
	}
	return warnings
}

// withFiles replaces each term @FILE by the lines of its file, and a recorded run by hosts.
func (s Selector) withFiles(pattern string, terms []string) ([]string, error) {
	var all []string
	for _, term := range terms {
		path, isFile := strings.CutPrefix(term, "@")
		if !isFile {
			all = append(all, term)
			continue
		}
		lines, err := s.limitTerms(path)
		if err != nil {
			return nil, &Error{Pattern: pattern, Msg: err.Error()}
		}
		all = append(all, lines...)
	}
	return all, nil
}

func (s Selector) limitTerms(path string) ([]string, error) {
	run, state, isRun := strings.Cut(path, ":")
	if isRun && s.LimitRun != nil && recordedRun().MatchString("@"+run) {
		return s.LimitRun(run, state)
	}
	return s.LimitFile(path)
}
