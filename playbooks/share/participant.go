package share

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// A Participant is one host in one play: it exports and imports. It may be used by many
// goroutines at once.
type Participant struct {
	x    *Exchange
	play int
	host string
}

// Join begins the part of a host in a play, now that its catalog is known; nil if nothing
// is exchanged in the run.
func (x *Exchange) Join(play int, host string, c *catalog.Compiled) *Participant {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	record := x.hosts[host]
	p := record.plays[play]
	p.compiled, p.exports, p.entries, p.sensitive, p.answered = true, map[string][]int{}, map[int]*export{}, map[int]bool{}, map[int]bool{}
	p.imports = make(map[int][]catalog.Import, len(c.Imports))
	for i, list := range c.Imports {
		p.imports[i] = list
	}
	for i := range c.Catalog.Entries {
		if e := &c.Catalog.Entries[i]; len(e.Export) > 0 {
			p.addExport(i, e)
		}
	}
	// Resources that control excludes export nothing, so importers of theirs fail when
	// these entries end as skipped.
	index := x.exports[play]
	for i := range c.Catalog.Entries {
		if e := &c.Catalog.Entries[i]; e.Excluded && index.exportsSome(e) && p.exports[e.Ref()] == nil {
			p.addExport(i, e)
		}
	}
	record.wake()
	return &Participant{x: x, play: play, host: host}
}

// Stage takes the next stage of the host's catalog: the entries before it have ended, and the later entries may differ.
func (p *Participant) Stage(c *catalog.Compiled) {
	if p == nil {
		return
	}
	p.x.mu.Lock()
	defer p.x.mu.Unlock()
	own, from := p.hostPlay(), c.Catalog.From
	maps.DeleteFunc(own.entries, func(i int, _ *export) bool { return i >= from })
	for name, list := range own.exports {
		if own.exports[name] = slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i >= from }); len(own.exports[name]) == 0 {
			delete(own.exports, name)
		}
	}
	maps.DeleteFunc(own.imports, func(i int, _ []catalog.Import) bool { return i >= from })
	maps.DeleteFunc(own.answered, func(i int, _ bool) bool { return i >= from })
	for i, list := range c.Imports {
		if i >= from {
			own.imports[i] = list
		}
	}
	index := p.x.exports[p.play]
	for i := range c.Catalog.Entries {
		if e := &c.Catalog.Entries[i]; i >= from && (len(e.Export) > 0 || e.Excluded && index.exportsSome(e) && own.exports[e.Ref()] == nil) {
			own.addExport(i, e)
		}
	}
	p.record().wake()
}

// addExport notes an entry under the names by which others can import its values.
func (p *hostPlay) addExport(i int, e *wire.Entry) {
	p.entries[i] = &export{ref: e.Ref()}
	for _, name := range slices.Compact([]string{e.Name, e.Alias}) {
		if name != "" {
			p.exports[e.Type+"#"+name] = append(p.exports[e.Type+"#"+name], i)
		}
	}
}

// record and hostPlay return the exchange's data about the participant; the exchange's lock must be held.
func (p *Participant) record() *hostRecord { return p.x.hosts[p.host] }
func (p *Participant) hostPlay() *hostPlay { return p.record().plays[p.play] }

// Export notes how an entry has ended, with the values that it has sent for other hosts.
func (p *Participant) Export(r *wire.Result, c *wire.Catalog) {
	p.x.mu.Lock()
	defer p.x.mu.Unlock()
	own := p.record()
	p.hostPlay().answered[r.Index] = true
	e := p.hostPlay().entries[r.Index]
	if e == nil {
		return
	}
	entry := &c.Entries[r.Index]
	e.done, e.status, e.certain = true, r.Status, r.Grade == modules.Certain
	e.predicted, e.sensitive = c.Check || entry.Check, entry.Sensitive
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
	own.wake()
}

// Import returns the values that an entry receives. It waits for other hosts, until ctx ends. A host whose connection
// was lost before the answer arrived requests them again.
func (p *Participant) Import(ctx context.Context, index int) *wire.Imported {
	given := &wire.Imported{Index: index, Values: map[string]json.RawMessage{}}
	p.x.mu.Lock()
	imports := p.hostPlay().imports[index]
	delete(p.hostPlay().answered, index)
	p.x.mu.Unlock()
	for _, imp := range imports {
		got, err := p.receive(ctx, index, imp)
		switch {
		case err != nil:
			return &wire.Imported{Index: index, Error: fmt.Sprintf("receiving %s: %v", imp.Property, err)}
		case got.unknown:
			given.Unknown = true
		default:
			given.Values[imp.Property] = got.value
		}
		given.Sensitive = given.Sensitive || got.sensitive
	}
	p.answered(index, given.Sensitive)
	return given
}

// answered notes that an entry waits no more.
func (p *Participant) answered(index int, sensitive bool) {
	p.x.mu.Lock()
	defer p.x.mu.Unlock()
	own := p.hostPlay()
	own.answered[index] = true
	if sensitive {
		own.sensitive[index] = true
	}
}

// ImportedSensitive reports whether an entry has received a sensitive value.
func (p *Participant) ImportedSensitive(index int) bool {
	p.x.mu.Lock()
	defer p.x.mu.Unlock()
	return p.hostPlay().sensitive[index]
}

// A received is one value; unknown is set if it cannot be known in a check run.
type received struct {
	value     json.RawMessage
	unknown   bool
	sensitive bool
}

// receive waits for one value.
func (p *Participant) receive(ctx context.Context, index int, imp catalog.Import) (received, error) {
	for {
		got, changed, startable, err := p.lookUp(index, imp)
		if changed == nil {
			return got, err
		}
		if startable {
			p.x.startHost(imp.Host)
		}
		if err := p.await(ctx, imp.Host, changed); err != nil {
			return received{}, err
		}
	}
}

// await waits until something changes on another host.
func (p *Participant) await(ctx context.Context, host string, changed <-chan struct{}) error {
	if p.x.waits != nil {
		end, err := p.x.waits.begin(wait{p.host, host, false})
		if err != nil {
			return err
		}
		defer end()
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookUp finds a value, or the reason why there is none. If that is still open it returns the channel to wait for;
// startable is set if the awaited host could begin now.
func (p *Participant) lookUp(index int, imp catalog.Import) (got received, changed <-chan struct{}, startable bool, err error) {
	p.x.mu.Lock()
	defer p.x.mu.Unlock()
	from := p.x.hosts[imp.Host]
	if from == nil {
		return got, nil, false, fmt.Errorf("%s is not in this run", imp.Host)
	}
	for n := p.play; n >= 0; n-- {
		its := from.plays[n]
		if its == nil || !p.x.exports[n].mayExport(imp.Ref, imp.Key) {
			continue
		}
		switch found := its.exports[imp.Ref]; {
		case len(found) > 1:
			return got, nil, false, fmt.Errorf("%s matches %d resources of %s: write the name of one of them", imp.Ref, len(found), imp.Host)
		case len(found) == 1 && its.entries[found[0]].done:
			got, err = its.entries[found[0]].value(imp)
			return got, nil, false, err
		case len(found) == 1 && !its.over:
			if circle := p.circle(index, imp, found[0]); circle != "" {
				return got, nil, false, fmt.Errorf("hosts wait for each other in a circle: %s", circle)
			}
			return got, from.changed, false, nil
		case len(found) == 1, its.over && !its.compiled:
			return got, nil, false, fmt.Errorf("the host %s failed, or its run ended, before %s was finished: see the messages of this host", imp.Host, imp.Ref)
		case !its.compiled && !its.batchBegun:
			return got, nil, false, fmt.Errorf("the host %s is in a later batch of the play: move %s into an earlier play", imp.Host, imp.Ref)
		case !its.compiled:
			return got, from.changed, true, nil
		}
	}
	return got, nil, false, fmt.Errorf("%s has no resource that is called %s and exports %q", imp.Host, imp.Ref, imp.Key)
}

// value is the value that an entry which has ended exports.
func (e *export) value(imp catalog.Import) (received, error) {
	got := received{sensitive: e.sensitive}
	value, has := e.sent[imp.Key]
	what := fmt.Sprintf("%s of %s", e.ref, imp.Host)
	switch why, dropped := e.dropped[imp.Key]; {
	case e.status.HasFailed():
		return got, fmt.Errorf("%s has failed, so it has sent no %q", what, imp.Key)
	case e.status == wire.Skipped:
		return got, fmt.Errorf("%s was skipped, so it has sent no %q", what, imp.Key)
	case dropped:
		return got, fmt.Errorf("%q of %s is too large: %s", imp.Key, what, why)
	case e.predicted && (e.status == wire.Changed || !e.certain || !has):
		got.unknown = true
	case !has:
		return got, fmt.Errorf(`%s has sent no %q: the resource did nothing in this run, and no earlier output is recorded; to run the resource again, remove "creates", "onlyif" and "unless" for one run`, what, imp.Key)
	default:
		got.value = value
	}
	return got, nil
}
