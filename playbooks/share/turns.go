package share

import (
	"sync"
	"time"
)

// Turns holds the turns of a host in one play, by the number of the entry. They outlive the connection to the
// host: an entry that is in progress there keeps its semaphores until the host has reported its result.
type Turns struct {
	request func(index int, claims []Claim) *Turn

	mu      sync.Mutex
	byIndex map[int]*Turn
}

// NewTurns returns turns that are requested with request.
func NewTurns(request func(index int, claims []Claim) *Turn) *Turns {
	return &Turns{request: request, byIndex: map[int]*Turn{}}
}

// Claim returns the turn that an entry still has from before its connection was lost, or else requests one.
func (t *Turns) Claim(index int, claims []Claim) *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn := t.byIndex[index]; turn != nil && !turn.isReleased() {
		return turn
	}
	turn := t.request(index, claims)
	t.byIndex[index] = turn
	return turn
}

// Reported releases the turn of an entry that has a result.
func (t *Turns) Reported(index int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn := t.byIndex[index]; turn != nil {
		turn.Release()
		delete(t.byIndex, index)
	}
}

// Release releases all turns: the host has nothing in progress any more.
func (t *Turns) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, turn := range t.byIndex {
		turn.Release()
	}
	clear(t.byIndex)
}

// Abandon abandons the turns of a lost host: see [Turn.Abandon]. entry returns the resource of an entry, as type#name,
// and its deadline; the turn of an entry without a resource is released.
func (t *Turns) Abandon(host string, entry func(index int) (what string, within time.Duration)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for index, turn := range t.byIndex {
		if !turn.IsHeld() {
			turn.Release()
			continue
		}
		if what, within := entry(index); what == "" {
			turn.Release()
		} else {
			turn.Abandon(host, what, within)
		}
	}
	clear(t.byIndex)
}

// IsHeld reports whether a turn was granted and is not released yet.
func (t *Turn) IsHeld() bool {
	select {
	case <-t.granted:
		return t.err == nil && !t.isReleased()
	default:
		return false
	}
}

// isReleased reports whether a turn has been released.
func (t *Turn) isReleased() bool {
	select {
	case <-t.released:
		return true
	default:
		return false
	}
}
