package share

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// An Exchange carries values between the hosts of a run. It goes by the manifests and by
// the catalogs made of them: a host can export only what its manifest says, and gets only
// what its own catalog imports. A value is handed on as the JSON that the host has sent.
// Plays go by their numbers in the run.
//
// A nil Exchange does nothing. It may be used by many goroutines at once.
type Exchange struct {
	plays   [][]*inventory.Host // the hosts of each
	exports []*exportIndex      // of each play

	waits *Waits // of the hosts for each other; nil if they do so for values alone

	mu    sync.Mutex
	hosts map[string]*hostRecord
	start func(host string) // begins a host of the batch at once; nil is nothing
}

// A hostRecord is what the exchange knows of one host.
type hostRecord struct {
	plays   []*hostPlay   // by number of the play; nil where the host has no part in it
	size    int           // of the values that are kept, in bytes
	changed chan struct{} // closed, and replaced, when something here changes
}

// A hostPlay is what one host does in one play.
type hostPlay struct {
	batchBegun bool
	compiled   bool // it has a catalog
	over       bool
	exports    map[string][]int // type#name and type#alias → the entries with exports
	entries    map[int]*export
	imports    map[int][]catalog.Import
	answered   map[int]bool // entries that have what they import, or know that they get nothing
	sensitive  map[int]bool // entries that have received what is sensitive
}

// An export is an entry whose values other hosts may import, and how it ended.
type export struct {
	ref       string
	done      bool
	status    wire.Status
	predicted bool // in a check run: it was not carried out
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

// Any reports whether a host may receive a value from another one in any of the plays.
func Any(plays []*manifest.Play) bool { return slices.ContainsFunc(plays, mayImport) }

// NewExchange makes the exchange of plays and the hosts of each; nil if none of the plays
// imports anything.
func NewExchange(plays []*manifest.Play, hosts [][]*inventory.Host) *Exchange {
	if !Any(plays) {
		return nil
	}
	x := &Exchange{plays: hosts, hosts: map[string]*hostRecord{}}
	for n, p := range plays {
		x.exports = append(x.exports, exportsOf(p))
		for _, h := range hosts[n] {
			record := x.hosts[h.Name]
			if record == nil {
				record = &hostRecord{plays: make([]*hostPlay, len(plays)), changed: make(chan struct{})}
				x.hosts[h.Name] = record
			}
			record.plays[n] = &hostPlay{}
		}
	}
	return x
}

// WaitIn has the hosts' waits for values noted beside others of the run.
func (x *Exchange) WaitIn(waits *Waits) {
	if x != nil {
		x.waits = waits
	}
}

// StartWith sets what begins a host of the current batch that others wait for, out of
// turn; nil while there is no batch.
func (x *Exchange) StartWith(start func(host string)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.start = start
}

// startHost begins a host that others wait for.
func (x *Exchange) startHost(host string) {
	x.mu.Lock()
	start := x.start
	x.mu.Unlock()
	if start != nil {
		start(host)
	}
}

// PlayBegins says which hosts of a play remain when it begins. The others are over.
func (x *Exchange) PlayBegins(play int, remaining []*inventory.Host) {
	if x == nil || len(remaining) == len(x.plays[play]) {
		return
	}
	remains := map[*inventory.Host]bool{}
	for _, h := range remaining {
		remains[h] = true
	}
	for _, h := range x.plays[play] {
		if !remains[h] {
			x.Over(play, h.Name)
		}
	}
}

// BatchBegins says that a batch of a play begins.
func (x *Exchange) BatchBegins(play int, hosts []string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range hosts {
		x.hosts[h].plays[play].batchBegun = true
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
		record := x.hosts[h]
		if p := record.plays[play]; !p.over {
			p.over, p.imports = true, nil
			record.wake()
		}
	}
}

// wake has all that wait for a host look again.
func (r *hostRecord) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}
