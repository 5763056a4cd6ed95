package watch

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A play is a catalog under watch. Lists of entries are by their index.
type play struct {
	watch    *wire.Watch
	standing *engine.Standing
	known    []*wire.Result // results of entries that the controller knows
	left     []bool         // whether a run has left each in its desired state

	hinted  hinted
	polling polling
	soon    map[int]bool // entries that are checked without waiting
	all     bool         // all of them are
	leftOut map[int]bool // entries that a check of all has skipped, since they had not settled
	missed  string       // reason, for the controller; empty means none
	after   time.Time    // nothing is checked before

	sources []modules.Sources
	first   int      // index of its first source among all sources
	polled  []string // why nothing is heard, as the entries say
	silent  []string // the same, by the listener
	polls   []wire.Polled
	heard   bool // the controller knows them

	writers map[int]listen.Writer
	holder  wire.Lock // run in progress since the last check; zero means none
}

// newPlay is a catalog that was checked just now.
func newPlay(cat *wire.Catalog, s *engine.Standing, now time.Time) *play {
	entries := s.Entries()
	p := &play{
		watch: cat.Watch, standing: s, known: make([]*wire.Result, len(entries)),
		hinted: hinted{}, soon: map[int]bool{}, leftOut: map[int]bool{}, writers: map[int]listen.Writer{}, all: true,
		sources: make([]modules.Sources, len(entries)), polled: make([]string, len(entries)), silent: make([]string, len(entries)),
	}
	every := make([]time.Duration, len(entries))
	for i := range entries {
		p.known[i] = s.Result(i)
		every[i] = p.watch.Poll
		switch of := entries[i].Watch; {
		case of != nil && of.Off, entries[i].Excluded, entries[i].Hidden:
			every[i] = 0
		case of != nil && of.Poll != nil:
			every[i] = *of.Poll
		}
	}
	p.polling, p.left = newPolling(now, every), s.Left()
	return p
}

// paceOf returns the wait after a hint.
func (p *play) paceOf(i int) pace {
	if i >= 0 {
		if of := p.standing.Entries()[i].Watch; of != nil && of.Settle > 0 {
			return pace{of.Settle, p.watch.Longest}
		}
	}
	return pace{p.watch.Settle, p.watch.Longest}
}

// isOff reports whether an entry is not watched itself.
func (p *play) isOff(i int) bool {
	of := p.standing.Entries()[i].Watch
	return of != nil && of.Off
}

// next returns the time of the next check, or zero.
func (p *play) next(now time.Time) time.Time {
	next := earlier(p.hinted.next(p.paceOf), p.polling.next())
	if p.all || len(p.soon) > 0 {
		next = now
	}
	if next.IsZero() || next.After(p.after) {
		return next
	}
	return p.after
}

// hurry checks all entries with hints without waiting.
func (p *play) hurry() {
	for i := range p.hinted {
		p.checkSoon(i)
	}
	clear(p.hinted)
}

// checkSoon checks an entry, or all, without waiting.
func (p *play) checkSoon(i int) {
	if i == everything {
		p.all = true
	} else {
		p.soon[i] = true
	}
}

// due takes the entries to check now. again is nil for all entries, except entries that have not settled.
func (p *play) due(now time.Time) (again func(int) bool, whole bool) {
	for _, i := range slices.Concat(p.hinted.take(now, p.paceOf), p.polling.take(now)) {
		p.checkSoon(i)
		p.all = p.all || p.leftOut[i] // the others were checked without it
	}
	part := make([]bool, len(p.known))
	if whole = p.all; whole {
		for i := range part {
			part[i] = true
		}
		clear(p.leftOut)
	} else {
		p.spread(part)
	}
	for i := range p.hinted {
		if i >= 0 {
			part[i] = false
			p.leftOut[i] = p.leftOut[i] || whole
		}
	}
	p.all = false
	clear(p.soon)
	return func(i int) bool { return part[i] }, whole
}

// spread marks entries with hints, drifted entries, all entries that depend on those, and entries that are not watched
// themselves but needed by those.
func (p *play) spread(part []bool) {
	for i := range part {
		part[i] = p.soon[i] || status(p.standing.Result(i)) != wire.Stable
		for on := range p.standing.Dependencies(i) {
			part[i] = part[i] || part[on]
		}
	}
	for i := len(part) - 1; i >= 0; i-- {
		for on := range p.standing.Dependencies(i) {
			part[on] = part[on] || part[i] && p.isOff(on)
		}
	}
}

// learn records the results of a check, and returns the results that the controller does not know.
func (p *play) learn(s *engine.Standing, again func(int) bool, whole bool) (news []*wire.Result, writers map[int]wire.Writer) {
	before := p.standing
	p.standing = s
	writers = map[int]wire.Writer{}
	for i, old := range p.known {
		r := s.Result(i)
		if !whole && (r.Grade != before.Result(i).Grade || !s.Sees(i, before)) {
			p.all = true // an uncertain entry makes others uncertain, as does another plan with the same words
		}
		switch {
		case same(old, r):
			if again(i) {
				delete(p.writers, i)
			}
			continue
		case !whole:
			p.all = true // any other entry may see the plan of one
			if !s.Exact() {
				continue // it is reported after that check
			}
		}
		p.known[i] = r
		if p.isOff(i) {
			continue
		}
		told, writer := p.tells(i, old, r)
		news = append(news, told)
		if writer != (wire.Writer{Index: i}) {
			writers[i] = writer
		}
		delete(p.writers, i)
	}
	if len(news) > 0 {
		p.left = s.Left()
	}
	if !p.all {
		p.holder = wire.Lock{}
	}
	return news, writers
}

// tells returns the report of an entry with a new result, and the writer of the change, as far as it is known. A new
// difference is drift, unless another run has recorded another desired state.
func (p *play) tells(i int, old, r *wire.Result) (told *wire.Result, w wire.Writer) {
	told = outgoing(r)
	if !p.standing.Secret(i) {
		by := p.writers[i]
		w = wire.Writer{PID: by.PID, Program: by.Program, User: by.User}
	}
	w.Index = i
	if r.Cause != wire.Intent || status(r) != wire.Changed || status(old) != wire.Stable || len(p.standing.Entries()[i].Receive) > 0 {
		return told, w
	}
	switch {
	case !p.left[i]:
		told.Cause = wire.Drift
	case p.holder.Run != "":
		w.Run, w.Holder = p.holder.Run, p.holder.Holder
	default:
		w.Run, w.Holder = p.standing.LastRun()
	}
	return told, w
}

// listenTo collects the sources of the checked entries, and reports whether they have changed. Then the entries are
// checked again, once the new sources are listened to.
func (p *play) listenTo(ctx context.Context, checked func(int) bool, now time.Time) (changed bool) {
	for i := range p.sources {
		if !checked(i) || p.isOff(i) {
			continue
		}
		from, polled := p.standing.Sources(ctx, i)
		if ctx.Err() != nil {
			return changed
		}
		if polled != p.polled[i] {
			p.polled[i], changed = polled, true
		}
		if !reflect.DeepEqual(from, p.sources[i]) {
			p.sources[i], changed = from, true
			p.hinted.hint(i, now) // and not earlier: the file may change all the time
		}
	}
	return changed
}

// listPolled returns the report of entries that cannot be heard, if it is new.
func (p *play) listPolled() (all []*wire.Watched) {
	var list []wire.Polled
	for i, polled := range p.polled {
		silent := p.silent[i]
		if silent != "" && p.standing.Secret(i) {
			silent = "a part of it cannot be listened to"
		}
		why := strings.Join(slices.DeleteFunc([]string{polled, silent}, func(s string) bool { return s == "" }), "; ")
		if why != "" && !p.isOff(i) {
			list = append(list, wire.Polled{Index: i, Why: why})
		}
	}
	if p.heard && slices.Equal(list, p.polls) {
		return nil
	}
	p.heard, p.polls = true, list
	return polledPieces(p.watch.Play, list)
}

// isQuiet reports whether no reports may be sent now.
func (p *play) isQuiet() bool {
	return slices.ContainsFunc(p.watch.Quiet, func(path string) bool { return p.standing.Look(path) == nil })
}
