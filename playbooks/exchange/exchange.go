// Package exchange carries values from resources of one host to those of others: it
// says before a run which of them could never come, and hands the others on during it.
package exchange

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// An Exchange carries values from resources of one host to those of others. It goes
// by what the manifests say, and by the catalogs made of them: a host can give only
// what it exports, and gets only what its own catalog receives. What a host has sent
// is a value, handed on as the JSON that it is. Plays go by their numbers in the run.
// Without any, as nil, it does nothing; it may be used by many goroutines at once.
type Exchange struct {
	plays [][]*inventory.Host // the hosts of each
	gives []*exporters        // of each play

	mu    sync.Mutex
	hosts map[string]*trader
	hurry func(host string) // has a host of the batch begun at once
}

// A trader is one host of the exchange.
type trader struct {
	parts   []*part // by number of the play; nil where it has none
	size    int     // of the values that are kept, in bytes
	changed chan struct{}
}

// A part is what one host does in one play.
type part struct {
	due     bool // its batch has begun
	begun   bool // it has a catalog
	over    bool
	exports map[string][]int // the entries that a reference means, of those with exports
	entries map[int]*export
	imports map[int][]catalog.Import // what has not been answered
	secret  map[int]bool             // entries that have been given what is sensitive
}

// An export is an entry that gives values to other hosts, and how it ended.
type export struct {
	ref       string
	done      bool
	status    modules.Status
	foretold  bool // it was only predicted
	certain   bool
	sensitive bool
	sent      map[string]json.RawMessage
	dropped   map[string]string // what is not kept, and why
}

// Bounds of what is kept, in bytes of JSON.
const (
	maxValue  = 64 << 10 // one value
	maxValues = 1 << 20  // all values of a host
)

// New makes the exchange of plays and the hosts of each; nil if none of the plays
// receives anything.
func New(plays []*manifest.Play, hosts [][]*inventory.Host) *Exchange {
	if !slices.ContainsFunc(plays, mayImport) {
		return nil
	}
	x := &Exchange{plays: hosts, hosts: map[string]*trader{}}
	for n, p := range plays {
		x.gives = append(x.gives, exportersOf(p))
		for _, h := range hosts[n] {
			t := x.hosts[h.Name]
			if t == nil {
				t = &trader{parts: make([]*part, len(plays)), changed: make(chan struct{})}
				x.hosts[h.Name] = t
			}
			t.parts[n] = &part{}
		}
	}
	return x
}

// Serves takes what has a host of the batch begun at once; nil is nothing.
func (x *Exchange) Serves(hurry func(host string)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hurry = hurry
}

// hasten has a host begun that others wait for.
func (x *Exchange) hasten(host string) {
	x.mu.Lock()
	hurry := x.hurry
	x.mu.Unlock()
	if hurry != nil {
		hurry(host)
	}
}

// Alive says which hosts are still there when a play begins: the others will not come.
func (x *Exchange) Alive(play int, alive []*inventory.Host) {
	if x == nil || len(alive) == len(x.plays[play]) {
		return
	}
	left := map[*inventory.Host]bool{}
	for _, h := range alive {
		left[h] = true
	}
	for _, h := range x.plays[play] {
		if !left[h] {
			x.Over(play, h.Name)
		}
	}
}

// Due says that a batch of a play begins.
func (x *Exchange) Due(play int, hosts []string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range hosts {
		x.hosts[h].parts[play].due = true
	}
}

// Over says that hosts are done with a play, or that they will never begin it.
func (x *Exchange) Over(play int, hosts ...string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range hosts {
		t := x.hosts[h]
		if p := t.parts[play]; !p.over {
			p.over, p.imports = true, nil
			t.tell()
		}
	}
}

// tell wakes those that wait for a host.
func (t *trader) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}
