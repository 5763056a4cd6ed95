package pattern

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
