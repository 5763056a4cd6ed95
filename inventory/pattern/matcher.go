package pattern

import "slices"

// A matcher evaluates the terms of one pattern.
type matcher struct {
	Selector
	misses []miss
}

// A miss is a term, or a name of one, that matches nothing.
type miss struct{ msg, hint string }

func (m miss) String() string {
	if m.hint == "" {
		return m.msg
	}
	return m.msg + "; " + m.hint
}

func (m *matcher) nothing(pattern string) *Error {
	e := &Error{Pattern: pattern, Msg: "selects no host", nothing: true}
	if m.Hosts.Len() == 0 {
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

// combine joins the hosts of the plain terms, keeps those in the & terms and drops those in the ! terms, whatever the
// order of the terms.
func (m *matcher) combine(terms []string) ([]int, error) {
	plain, keep, drop := sortTerms(terms)
	var selected set
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
		var named set
		named.add(hosts)
		kept := i < len(keep)
		list = slices.DeleteFunc(list, func(h int) bool { return named.has(h) != kept })
	}
	return list, nil
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
		plain = []string{"all"}
	}
	return plain, keep, drop
}

// A set is hosts, each once, in the order in which they were first added.
type set struct {
	list    []int
	present []bool
}

func (s *set) add(hosts []int) {
	for _, h := range hosts {
		if s.has(h) {
			continue
		}
		if missing := h + 1 - len(s.present); missing > 0 {
			s.present = append(s.present, make([]bool, missing)...)
		}
		s.present[h] = true
		s.list = append(s.list, h)
	}
}

func (s *set) has(h int) bool { return h < len(s.present) && s.present[h] }
