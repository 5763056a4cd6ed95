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

// An Exchange carries values between the hosts of a run. It follows the manifests and the catalogs made from them: a
// host can export only what its manifest declares, and receives only what its own catalog imports. A value is passed on
// as the JSON that the host has sent. Plays have their numbers in the run.
//
// A nil Exchange does nothing. It is safe for concurrent use.
type Exchange struct {
	plays   [][]*inventory.Host // the hosts of each
	exports []*exportIndex      // exports of each play

	waits *Waits // waits of the hosts for each other; nil if they wait only for values

	mu    sync.Mutex
	hosts map[string]*hostRecord
	start func(host string) // begins a host of the batch at once; may be nil
}

// A hostRecord is the exchange's data about one host.
type hostRecord struct {
	plays   []*hostPlay   // plays by number; nil if the host is not in the play
	size    int           // size of the kept values, in bytes
	changed chan struct{} // closed, and replaced, when something here changes
}

// A hostPlay is the state of one host in one play.
type hostPlay struct {
	batchBegun bool
	compiled   bool // it has a catalog
	over       bool
	exports    map[string][]int // type#name and type#alias → the entries with exports
	entries    map[int]*export
	imports    map[int][]catalog.Import
	answered   map[int]bool // entries that have their imports, or know that they get none
	sensitive  map[int]bool // entries that have received sensitive values
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
	dropped   map[string]string // dropped values with the reasons
}

// Limits of the kept values, in bytes of JSON.
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

// WaitIn registers the hosts' waits for values together with other waits of the run.
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

// PlayBegins sets the remaining hosts of a play when it begins. The others are over.
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

// BatchBegins records that a batch of a play begins.
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

// Over records that hosts are done with a play, or that they will never begin it.
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

// wake makes all goroutines that wait for a host check again.
func (r *hostRecord) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}
