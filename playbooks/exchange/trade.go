package exchange

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// A Trade is what one host gives and gets in one play. It may be used by many
// goroutines at once.
type Trade struct {
	x    *Exchange
	play int
	host string
}

// Trade begins the part of a host in a play, now that its catalog is known; nil if it
// neither gives nor gets anything that another one could see.
func (x *Exchange) Trade(play int, host string, c *catalog.Compiled) *Trade {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.hosts[host]
	p := t.parts[play]
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
	gives := x.gives[play]
	for i := range c.Catalog.Entries { // of those that control excludes, which export nothing
		if e := &c.Catalog.Entries[i]; e.Excluded && gives.any(e) && p.exports[e.Ref()] == nil {
			p.exported(i, e)
		}
	}
	t.tell()
	return &Trade{x: x, play: play, host: host}
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

// Told notes how an entry has ended.
func (t *Trade) Told(r *modules.Result, c *modules.Catalog) {
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

// Need gives what an entry receives. It waits for other hosts, and until ctx ends.
func (t *Trade) Need(ctx context.Context, index int) *modules.Given {
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
func (t *Trade) answered(index int, sensitive bool) {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	p := t.x.hosts[t.host].parts[t.play]
	delete(p.imports, index)
	if sensitive {
		p.secret[index] = true
	}
}

// Secret reports whether an entry has been given what is sensitive.
func (t *Trade) Secret(index int) bool {
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
func (t *Trade) receive(ctx context.Context, index int, imp catalog.Import) (received, error) {
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
func (t *Trade) look(index int, imp catalog.Import) (got received, changed <-chan struct{}, due bool, err error) {
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
