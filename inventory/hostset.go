package inventory

// A hostSet is a list of hosts of one inventory without duplicates, in the order
// in which they were first added.
type hostSet struct {
	list    []*Host
	present []bool // by Host.index
}

func (s *hostSet) add(hosts []*Host) {
	for _, h := range hosts {
		if s.has(h) {
			continue
		}
		if missing := h.index + 1 - len(s.present); missing > 0 {
			s.present = append(s.present, make([]bool, missing)...)
		}
		s.present[h.index] = true
		s.list = append(s.list, h)
	}
}

func (s *hostSet) has(h *Host) bool { return h.index < len(s.present) && s.present[h.index] }
