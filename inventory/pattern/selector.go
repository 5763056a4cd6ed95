package pattern

// A Selector selects hosts of one fleet.
type Selector struct {
	Hosts, Groups Names
	// Members lists the hosts of a group, its own before those of the groups in it,
	// with a host as often as groups list it.
	Members func(group int) []int
	// Local is the host that [LocalNames] mean if no host or group has the name; none
	// if it is empty.
	Local []int

	// LimitFile gives the terms in the file of a term @FILE of a limit.
	LimitFile func(path string) (terms []string, err error)

	// AllowEmpty has a pattern that selects nothing come with a warning instead of an
	// error.
	AllowEmpty bool
	// Strict makes it an error that a term matches nothing, also if others do.
	Strict bool
}

// Names are those of all hosts or all groups, in the order in which globs and
// expressions find them.
type Names interface {
	Len() int
	At(i int) string
	Find(name string) (i int, ok bool)
}

// LocalNames are the names that this machine has everywhere.
var LocalNames = []string{"localhost", "127.0.0.1", "::1"}

// Select gives the hosts that a pattern means, each once, in Ansible's order, and a
// warning for each term that matches nothing. The error is [Error].
func (s Selector) Select(pattern string) (hosts []int, warnings []string, err error) {
	terms, err := split(pattern)
	if err != nil {
		return nil, nil, err
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

// none is the answer for a pattern that selects nothing.
func (s Selector) none(err *Error) ([]int, []string, error) {
	if s.AllowEmpty {
		return nil, []string{err.Error()}, nil
	}
	return nil, nil, err
}
