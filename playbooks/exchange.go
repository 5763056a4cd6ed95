package playbooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// An exchange carries values from resources of one host to those of others. It goes
// by what the manifests say, and by the catalogs made of them: a host can give only
// what it exports, and gets only what its own catalog receives. What a host has sent
// is a value, handed on as the JSON that it is.
type exchange struct {
	mu      sync.Mutex
	numbers map[*selection]int // of the plays
	gives   []*exporters       // by number of the play
	hosts   map[string]*trader
	hurry   func(host string) // has a host of the batch begun at once
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

// newExchange makes the exchange of a run; nil if none of its plays receives anything.
func newExchange(plays []*selection) *exchange {
	if !slices.ContainsFunc(plays, func(s *selection) bool { return mayImport(s.play) }) {
		return nil
	}
	x := &exchange{numbers: map[*selection]int{}, hosts: map[string]*trader{}}
	for n, s := range plays {
		x.numbers[s] = n
		x.gives = append(x.gives, exportersOf(s.play))
		for _, h := range s.hosts {
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

// serves takes what has a host of the batch begun at once; nil is nothing.
func (x *exchange) serves(hurry func(host string)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hurry = hurry
}

// hasten has a host begun that others wait for.
func (x *exchange) hasten(host string) {
	x.mu.Lock()
	hurry := x.hurry
	x.mu.Unlock()
	if hurry != nil {
		hurry(host)
	}
}

// lost says which hosts are still there when a play begins: the others will not come.
func (x *exchange) lost(s *selection, alive []*inventory.Host) {
	if x == nil || len(alive) == len(s.hosts) {
		return
	}
	left := map[*inventory.Host]bool{}
	for _, h := range alive {
		left[h] = true
	}
	for _, h := range s.hosts {
		if !left[h] {
			x.over(s, h.Name)
		}
	}
}

// due says that a batch begins.
func (x *exchange) due(s *selection, hosts []string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range hosts {
		x.hosts[h].parts[x.numbers[s]].due = true
	}
}

// over says that hosts are done with a play, or that they will never begin it.
func (x *exchange) over(s *selection, hosts ...string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range hosts {
		t := x.hosts[h]
		if p := t.parts[x.numbers[s]]; !p.over {
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

// A trade is what one host gives and gets in one play. It may be used by many
// goroutines at once.
type trade struct {
	x    *exchange
	play int
	host string
}

// trade begins the part of a host in a play, now that its catalog is known; nil if it
// neither gives nor gets anything that another one could see.
func (x *exchange) trade(s *selection, host string, c *catalog.Compiled) *trade {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.hosts[host]
	p := t.parts[x.numbers[s]]
	p.begun, p.exports, p.entries, p.secret = true, map[string][]int{}, map[int]*export{}, map[int]bool{}
	p.imports = make(map[int][]catalog.Import, len(c.Imports))
	for i, list := range c.Imports {
		p.imports[i] = list
	}
	for i := range c.Catalog.Entries {
		if e := &c.Catalog.Entries[i]; len(e.Export) > 0 {
			p.exported(i, e)
		}
	}
	gives := x.gives[x.numbers[s]]
	for i := range c.Catalog.Entries { // of those that control excludes, which export nothing
		if e := &c.Catalog.Entries[i]; e.Excluded && gives.any(e) && p.exports[e.Ref()] == nil {
			p.exported(i, e)
		}
	}
	t.tell()
	return &trade{x: x, play: x.numbers[s], host: host}
}

// exported notes the names of an entry that others can receive values of.
func (p *part) exported(i int, e *modules.Entry) {
	p.entries[i] = &export{ref: e.Ref()}
	for _, name := range slices.Compact([]string{e.Name, e.Alias}) {
		if name != "" {
			p.exports[e.Type+"#"+name] = append(p.exports[e.Type+"#"+name], i)
		}
	}
}

// told notes how an entry has ended.
func (t *trade) told(r *modules.Result, c *modules.Catalog) {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	own := t.x.hosts[t.host]
	p := own.parts[t.play]
	delete(p.imports, r.Index)
	e := p.entries[r.Index]
	if e == nil {
		return
	}
	entry := &c.Entries[r.Index]
	e.done, e.status, e.certain = true, r.Status, !r.Uncertain
	e.foretold, e.sensitive = c.Check || entry.Check, entry.Sensitive
	e.sent, e.dropped = map[string]json.RawMessage{}, map[string]string{}
	for key, value := range r.Sent {
		switch {
		case len(value) > maxValue:
			e.dropped[key] = fmt.Sprintf("it has %d bytes, and %d KiB are allowed", len(value), maxValue>>10)
		case own.size+len(value) > maxValues:
			e.dropped[key] = fmt.Sprintf("all values of that host together have more than %d KiB", maxValues>>10)
		default:
			own.size += len(value)
			e.sent[key] = value
		}
	}
	own.tell()
}

// need gives what an entry receives. It waits for other hosts, and until ctx ends.
func (t *trade) need(ctx context.Context, index int) *modules.Given {
	given := &modules.Given{Index: index, Values: map[string]json.RawMessage{}}
	t.x.mu.Lock()
	imports := t.x.hosts[t.host].parts[t.play].imports[index]
	t.x.mu.Unlock()
	for _, imp := range imports {
		got, err := t.receive(ctx, index, imp)
		switch {
		case err != nil:
			return &modules.Given{Index: index, Error: fmt.Sprintf("receiving %s: %v", imp.Property, err)}
		case got.unknown:
			given.Unknown = true
		default:
			given.Values[imp.Property] = got.value
		}
		given.Sensitive = given.Sensitive || got.sensitive
	}
	t.answered(index, given.Sensitive)
	return given
}

// answered notes that an entry waits no more.
func (t *trade) answered(index int, sensitive bool) {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	p := t.x.hosts[t.host].parts[t.play]
	delete(p.imports, index)
	if sensitive {
		p.secret[index] = true
	}
}

// secret reports whether an entry has been given what is sensitive.
func (t *trade) secret(index int) bool {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	return t.x.hosts[t.host].parts[t.play].secret[index]
}

// A received is one value, or that nobody can know it in a check run.
type received struct {
	value     json.RawMessage
	unknown   bool
	sensitive bool
}

// receive waits for one value.
func (t *trade) receive(ctx context.Context, index int, imp catalog.Import) (received, error) {
	for {
		got, changed, due, err := t.look(index, imp)
		if changed == nil {
			return got, err
		}
		if due {
			t.x.hasten(imp.Host)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return received{}, ctx.Err()
		}
	}
}

// look finds a value, or why there is none; or it gives what to wait for. due is set
// if that is a host which could begin now.
func (t *trade) look(index int, imp catalog.Import) (got received, changed <-chan struct{}, due bool, err error) {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	from := t.x.hosts[imp.Host]
	if from == nil {
		return got, nil, false, fmt.Errorf("%s is not in this run", imp.Host)
	}
	for n := t.play; n >= 0; n-- {
		p := from.parts[n]
		if p == nil || !t.x.gives[n].may(imp.Ref, imp.Key) {
			continue
		}
		switch found := p.exports[imp.Ref]; {
		case len(found) > 1:
			return got, nil, false, fmt.Errorf("%s means %d resources of %s: name one of them", imp.Ref, len(found), imp.Host)
		case len(found) == 1 && p.entries[found[0]].done:
			got, err = p.entries[found[0]].give(imp)
			return got, nil, false, err
		case len(found) == 1 && !p.over:
			if circle := t.circle(index, imp, found[0]); circle != "" {
				return got, nil, false, fmt.Errorf("hosts wait for each other in a circle: %s", circle)
			}
			return got, from.changed, false, nil
		case len(found) == 1, p.over && !p.begun:
			return got, nil, false, fmt.Errorf("%s has failed, or its run has ended, before %s was done there: see what is said of it", imp.Host, imp.Ref)
		case !p.begun && !p.due:
			return got, nil, false, fmt.Errorf("%s has its turn in a later batch of the play: put %s into a play before this one", imp.Host, imp.Ref)
		case !p.begun:
			return got, from.changed, true, nil
		}
	}
	return got, nil, false, fmt.Errorf("%s has no resource that is called %s and exports %s", imp.Host, imp.Ref, imp.Key)
}

// give gives a value of an entry that has ended.
func (e *export) give(imp catalog.Import) (received, error) {
	got := received{sensitive: e.sensitive}
	value, has := e.sent[imp.Key]
	what := fmt.Sprintf("%s of %s", e.ref, imp.Host)
	switch why, dropped := e.dropped[imp.Key]; {
	case e.status == modules.Failed:
		return got, fmt.Errorf("%s has failed, so there is no %s", what, imp.Key)
	case e.status == modules.Skipped:
		return got, fmt.Errorf("%s was skipped, so there is no %s", what, imp.Key)
	case dropped:
		return got, fmt.Errorf("%s of %s is too large: %s", imp.Key, what, why)
	case e.foretold && (e.status == modules.Changed || !e.certain || !has):
		got.unknown = true
	case !has:
		return got, fmt.Errorf("%s has sent no %s: it did nothing now, and nothing is remembered of an earlier run; let it run once, by removing what its creates, onlyif or unless finds, or read the value in another way", what, imp.Key)
	default:
		got.value = value
	}
	return got, nil
}

// A place is an entry of a host in the play at hand.
type place struct {
	host  string
	index int
}

// circle tells whether the entry that a host waits for can be reached only after the
// one that waits, and how. The entries of a host count as done one after the other:
// with strategy graph some could be done earlier, but how many at once is bounded.
func (t *trade) circle(index int, imp catalog.Import, target int) string {
	names := []string{fmt.Sprintf("a resource of %s waits for %s of %s", t.host, imp.Ref, imp.Host)}
	been := map[place]bool{}
	var walk func(at place) bool
	walk = func(at place) bool {
		if been[at] {
			return false
		}
		been[at] = true
		p := t.x.hosts[at.host].parts[t.play]
		for _, i := range sortedUpTo(p.imports, at.index) {
			for _, next := range p.imports[i] {
				to, ok := t.x.pending(t.play, next)
				if !ok {
					continue
				}
				names = append(names, fmt.Sprintf("one of %s for %s of %s", at.host, next.Ref, next.Host))
				if to.host == t.host && to.index >= index || walk(to) {
					return true
				}
				names = names[:len(names)-1]
			}
		}
		return false
	}
	if !walk(place{imp.Host, target}) {
		return ""
	}
	return strings.Join(names, ", ")
}

// pending finds the entry of a play that a value will come from, if that is known and
// it has not ended.
func (x *exchange) pending(play int, imp catalog.Import) (place, bool) {
	t := x.hosts[imp.Host]
	if t == nil || t.parts[play] == nil {
		return place{}, false
	}
	p := t.parts[play]
	if found := p.exports[imp.Ref]; len(found) == 1 && !p.entries[found[0]].done {
		return place{imp.Host, found[0]}, true
	}
	return place{}, false
}

// sortedUpTo gives the keys up to one, in order.
func sortedUpTo(imports map[int][]catalog.Import, last int) []int {
	var all []int
	for i := range imports {
		if i <= last {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, cmp.Compare[int])
	return all
}
