package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Expand gives the names that a folded text stands for, each once and in the
// order written: "web[1-3],db1", with steps ("web[1-9/2]"), several ranges
// ("rack[1-2]node[01-20]") and the operators of ClusterShell, which apply from
// left to right: a,b (both), a!b (without b), a&b (in both), a^b (in one of them).
// It knows of no inventory: each name stands for itself.
//
// The error is [TermError]. More than [MaxNames] names, and a name that no host can have,
// are errors too.
func Expand(text string) ([]string, error) {
	var names nameSet
	operator := byte(',')
	rest := text
	for {
		end := strings.IndexAny(maskBrackets(rest), ",!&^")
		item := rest
		if end >= 0 {
			item = rest[:end]
		}
		expanded, err := expandItem(strings.TrimSpace(item))
		if err != nil {
			return nil, inNodeSet(text, err)
		}
		names.apply(operator, expanded)
		if len(names.order) > MaxNames {
			return nil, inNodeSet(text, tooMany())
		}
		if end < 0 {
			return names.order, nil
		}
		operator, rest = rest[end], rest[end+1:]
	}
}

// maskBrackets gives s with _ in place of all that is in brackets; the length stays.
func maskBrackets(s string) string {
	return bracketForm().ReplaceAllStringFunc(s, func(in string) string { return strings.Repeat("_", len(in)) })
}

var bracketForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[^\]]*\]`) })

func expandItem(item string) ([]string, error) {
	if item == "" {
		return nil, termErrorf("separate names with commas, as in web[1-3],db1", "a name is missing")
	}
	names, err := ExpandRanges(item, func(spec string) ([]string, error) {
		if IsNodeSet(spec) || isDigits(spec) {
			return NodeSet(spec)
		}
		return nil, termErrorf(setHint, "[%s] is not a node set", spec)
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !IsName(name) {
			return nil, termErrorf(nameHint, "%q cannot be a host name", name)
		}
	}
	return names, nil
}

// A nameSet is names in the order in which they were first added.
type nameSet struct {
	order   []string
	present map[string]bool
}

func (s *nameSet) apply(operator byte, names []string) {
	if s.present == nil {
		s.present = make(map[string]bool, len(names))
	}
	switch operator {
	case ',':
		s.add(names)
	case '!':
		s.keep(names, false)
	case '&':
		s.keep(names, true)
	case '^':
		var fresh []string
		for _, name := range names {
			if !s.present[name] {
				fresh = append(fresh, name)
			}
		}
		s.keep(names, false)
		s.add(fresh)
	}
}

func (s *nameSet) add(names []string) {
	for _, name := range names {
		if !s.present[name] {
			s.present[name] = true
			s.order = append(s.order, name)
		}
	}
}

// keep drops all but the names that are among those given, or all but the others.
func (s *nameSet) keep(names []string, among bool) {
	in := make(map[string]bool, len(names))
	for _, name := range names {
		in[name] = true
	}
	kept := s.order[:0]
	for _, name := range s.order {
		if in[name] == among {
			kept = append(kept, name)
		} else {
			delete(s.present, name)
		}
	}
	s.order = kept
}

// IsNodeSet reports whether what stands between two brackets looks like a node set of
// more than one number. [NodeSet] may find something wrong with it.
func IsNodeSet(spec string) bool {
	numbers, digits := 1, 0
	for i := range len(spec) {
		switch c := spec[i]; {
		case c >= '0' && c <= '9':
			digits++
		case digits > 0 && strings.IndexByte("-,/", c) >= 0:
			numbers, digits = numbers+1, 0
		default:
			return false
		}
	}
	return digits > 0 && numbers > 1
}

// NodeSet expands what stands between the brackets of a folded node set, as ClusterShell
// writes it: 1-3, 09-11, 1,3-5, 1-10/2. Leading zeros are part of a name, so both
// ends of a range must have them in the same width. The error is [TermError].
func NodeSet(spec string) ([]string, error) {
	var list []string
	for item := range strings.SplitSeq(spec, ",") {
		values, err := nodeRange(spec, item)
		if err != nil {
			return nil, err
		}
		if list = append(list, values...); len(list) > MaxNames {
			return nil, tooMany()
		}
	}
	return list, nil
}

const setHint = "a node set is written [1-3,7], or [1-9/2] with a step"

func nodeRange(spec, item string) ([]string, error) {
	bounds, step, stepped := strings.Cut(item, "/")
	begin, end, isRange := strings.Cut(bounds, "-")
	if !isRange {
		end = begin
	}
	if !stepped {
		step = "1"
	}
	switch {
	case !isDigits(begin) || !isDigits(end) || !isDigits(step) || atoi(step) < 1:
		return nil, termErrorf(setHint, "[%s]: %q is not a number or a range of numbers", spec, item)
	case len(begin) != len(end) && (isPadded(begin) || isPadded(end)):
		return nil, termErrorf("write leading zeros at both ends or at none", "[%s]: %s and %s differ in width", spec, begin, end)
	case atoi(begin) > atoi(end):
		return nil, termErrorf(setHint, "[%s]: %s is greater than %s", spec, begin, end)
	}
	return numberRange(spec, begin, end, atoi(step))
}

func isPadded(number string) bool { return len(number) > 1 && number[0] == '0' }
