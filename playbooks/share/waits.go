package share

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Waits records which hosts of a run wait for which others, so that none waits for itself through others. The zero
// value is ready to use and safe for concurrent use.
type Waits struct {
	mu    sync.Mutex
	count map[wait]int
}

// A wait is one host that waits for another: for the whole of its play, or for a value. Values
// alone are looked after by an [Exchange], which knows more.
type wait struct {
	host, other string
	whole       bool
}

// begin notes that one host waits for another, until end is called. It is an error if that one waits
// for it, by itself or by way of others.
func (w *Waits) begin(one wait) (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if circle := w.path(wait{one.other, one.host, one.whole}, map[wait]bool{}); circle != nil {
		return nil, circleError(append([]string{one.host}, circle...))
	}
	if w.count == nil {
		w.count = map[wait]int{}
	}
	w.count[one]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.count[one]--; w.count[one] == 0 {
			delete(w.count, one)
		}
	}, nil
}

// path returns how at.host waits for at.other, over a path that has a wait for a whole play unless there was one
// before; nil if it does not wait.
func (w *Waits) path(at wait, been map[wait]bool) []string {
	if at.host == at.other && at.whole {
		return []string{at.other}
	}
	if been[at] {
		return nil
	}
	been[at] = true
	for _, next := range slices.SortedFunc(maps.Keys(w.count), func(a, b wait) int { return cmp.Compare(a.other, b.other) }) {
		if next.host != at.host {
			continue
		}
		if rest := w.path(wait{next.other, at.other, at.whole || next.whole}, been); rest != nil {
			return append([]string{at.host}, rest...)
		}
	}
	return nil
}

// circleError returns the error of hosts that wait for each other.
func circleError(hosts []string) error {
	return fmt.Errorf("hosts wait for each other in a circle: %s; move one of the resources that they wait for into an earlier play", strings.Join(hosts, " waits for "))
}
