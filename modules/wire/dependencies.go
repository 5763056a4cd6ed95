package wire

import "iter"

// Requirements yields the entries that an entry requires: if one fails, it is skipped.
func Requirements(e *Entry) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, j := range e.Require {
			if !yield(j) {
				return
			}
		}
		for _, from := range e.Receive {
			if from.From >= 0 && !yield(from.From) {
				return
			}
		}
	}
}

// Dependencies yields the entries that must end before entry i begins, direct ones only.
func Dependencies(entries []Entry, i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		e := &entries[i]
		for j := range Requirements(e) {
			if !yield(j) {
				return
			}
		}
		for _, list := range [][]int{e.Subscribe, e.After} {
			for _, j := range list {
				if !yield(j) {
					return
				}
			}
		}
		for j := i - 1; e.Scope != nil && j >= i-e.Scope.Entries; j-- {
			if !yield(j) {
				return
			}
		}
	}
}
