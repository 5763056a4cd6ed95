package pattern

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A subscript picks from the hosts that a term selects: [n], [-n] counted from the end, or [x:y] with both ends, [x:]
// and [:y].
type subscript struct {
	slice       bool // [x:y]
	first, last int  // last of [x:] is -1
}

var subscriptForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)\[(?:(-?[0-9]+)|(-?[0-9]*):(-?[0-9]*))\]$`)
})

// subscriptOf returns the matches of subscriptForm in a term, or nil.
func subscriptOf(term string) []string {
	if !strings.HasSuffix(term, "]") {
		return nil
	}
	return subscriptForm().FindStringSubmatch(term)
}

// splitSubscript splits the subscript from a term; it is nil if there is none.
func splitSubscript(term string) (base string, s *subscript, err error) {
	m := subscriptOf(term)
	if m == nil {
		return term, nil, nil
	}
	base, single, first, last := m[1], m[2], m[3], m[4]
	switch {
	case single != "":
		return base, &subscript{first: indexOf(single)}, nil
	case strings.HasPrefix(first+last, "-"), strings.HasPrefix(last, "-"):
		return "", nil, termErrorf("write "+base+"[-1] for the last host, [x:] for all from x on", "a slice [a:b] takes no negative numbers")
	case first == "" && last == "":
		return "", nil, termErrorf("write "+base+" for all of it", "the slice has no ends")
	}
	s = &subscript{slice: true, last: -1}
	if first != "" {
		s.first = indexOf(first)
	}
	if last != "" {
		s.last = indexOf(last)
	}
	return base, s, nil
}

// farIndex is an index that no inventory has.
const farIndex = 1 << 30

// indexOf parses an index. A number that does not fit into an int becomes an index beyond any host.
func indexOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n > farIndex {
		return farIndex
	}
	return max(n, -farIndex)
}

// of picks from hosts. An index beyond them is an error, the end of a slice may be beyond them.
func (s *subscript) of(hosts []int) ([]int, error) {
	first, end := s.first, s.first+1
	switch {
	case s.slice && s.last < 0:
		end = len(hosts)
	case s.slice:
		end = min(s.last+1, len(hosts))
	case first < 0:
		first += len(hosts)
		end = first + 1
	}
	if first < 0 || first >= len(hosts) {
		return nil, termErrorf(counted(len(hosts)), "the index is past the end")
	}
	if end <= first {
		return nil, termErrorf("", "the slice ends before it begins")
	}
	return hosts[first:end], nil
}

func counted(n int) string {
	if n == 1 {
		return "the pattern matches 1 host: use index 0"
	}
	return fmt.Sprintf("the pattern matches %d hosts: use an index from 0 to %d", n, n-1)
}
