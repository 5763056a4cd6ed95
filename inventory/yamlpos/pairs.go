package yamlpos

// A pairSet collects the entries of a map. A written entry replaces a merged one of the
// same key, and of merged ones the first stays.
type pairSet struct {
	pairs  []Pair
	merged map[string]bool // keys that came through <<
	index  map[string]int  // positions by key, for large sets
}

// largeSet is the number of keys from which on a map finds them faster.
const largeSet = 16

func (s *pairSet) find(key string) int {
	if len(s.pairs) < largeSet {
		for i, p := range s.pairs {
			if p.Key.Text == key {
				return i
			}
		}
		return -1
	}
	if s.index == nil {
		s.index = make(map[string]int, 2*largeSet)
	}
	for i := len(s.index); i < len(s.pairs); i++ {
		s.index[s.pairs[i].Key.Text] = i
	}
	if i, known := s.index[key]; known {
		return i
	}
	return -1
}

// write adds an entry that is written in the map itself.
func (s *pairSet) write(key, value *Node) error {
	i := s.find(key.Text)
	switch {
	case i < 0:
		s.pairs = append(s.pairs, Pair{key, value})
	case s.merged[key.Text]:
		delete(s.merged, key.Text)
		s.pairs[i] = Pair{key, value}
	default:
		return key.Errorf("", "key %q is given twice, first at line %d", key.Text, s.pairs[i].Key.Line)
	}
	return nil
}

// merge adds the value of <<: a map, or a list of maps. If several maps have a key, the first one wins.
func (s *pairSet) merge(from *Node) error {
	switch from.Kind {
	case Map:
		for _, p := range from.Pairs {
			s.mergePair(p)
		}
		return nil
	case List:
		var errs Errors
		for _, item := range from.Items {
			if item.Kind != Map {
				errs.Add(notMergeable(item))
				continue
			}
			errs.Add(s.merge(item))
		}
		return errs.Err()
	}
	return notMergeable(from)
}

// mergeable returns the number of entries that merge reads.
func mergeable(from *Node) int {
	n := len(from.Pairs)
	for _, item := range from.Items {
		n += len(item.Pairs)
	}
	return n
}

func (s *pairSet) mergePair(p Pair) {
	if s.find(p.Key.Text) >= 0 {
		return
	}
	if s.merged == nil {
		s.merged = map[string]bool{}
	}
	s.merged[p.Key.Text] = true
	s.pairs = append(s.pairs, p)
}

func notMergeable(n *Node) error {
	return n.Errorf("write <<: *name, or <<: [*a, *b]", "<< takes a map or a list of maps, not %s", n.Describe())
}
