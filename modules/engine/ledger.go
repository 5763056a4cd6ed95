package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// ledger is what is due on the host while a catalog is worked on.
type ledger struct {
	journal Journal
	cat     *modules.Catalog
	now     func() time.Time
	err     error            // why nothing can be told or noted
	warning string           // for the next result
	keys    map[int]dueKey   // of the entries that subscribe
	waiting map[int][]waiter // entry → who will act on its change
	notes   []*due           // what the journal holds, or shall hold once it is written
	failed  map[int]bool     // entries that have failed
	owed    map[int][]*due   // entry → what an earlier run has left for it
	served  map[dueKey]bool  // predicted by earlier catalogs of a check run
}

// A waiter is an entry that subscribes to a target: the entry that changes, or one
// that stands for the nested manifest it belongs to.
type waiter struct{ subscriber, target int }

// due is a note, and where it comes from.
type due struct {
	dueNote
	earlier bool        // an earlier run has left it
	causes  map[int]int // entries of this catalog that will have changed something → their targets
	saved   dueNote     // as the journal has it; zero if it does not
}

// openLedger reads the journal, if the catalog has use for it.
func (r *run) openLedger() *ledger {
	l := &ledger{
		journal: r.Journal, cat: r.cat, now: r.Now, served: r.served,
		keys: map[int]dueKey{}, waiting: map[int][]waiter{}, failed: map[int]bool{}, owed: map[int][]*due{},
	}
	if r.Journal == nil || r.cat.Monitor || !r.subscribers(l) {
		return l
	}
	text, err := r.Journal.Read()
	var notes []dueNote
	if err == nil {
		notes, err = parseDue(text)
	}
	for _, n := range notes {
		l.notes = append(l.notes, &due{dueNote: n, earlier: true, causes: map[int]int{}, saved: n})
	}
	if err != nil || r.distrust {
		l.damaged(err)
		r.distrust = true // what it said of the catalogs to come is not known either
	}
	l.assign()
	if r.distrust && !r.cat.Check && l.err == nil { // a run that ends now shall not make one forget
		l.err = l.save()
	}
	return l
}

// subscribers finds who waits for whom, and reports whether anybody does.
func (r *run) subscribers(l *ledger) bool {
	called := map[string]int{}
	for j := range r.cat.Entries {
		entry := &r.cat.Entries[j]
		if len(entry.Subscribe) == 0 || entry.Excluded || entry.Hidden {
			continue
		}
		if _, ok := r.resources[j].(modules.Refresher); !ok && r.errs[j] == nil && len(entry.Receive) == 0 {
			continue // which is an error of its own
		}
		name := dueName(entry)
		l.keys[j] = dueKey{name, called[name]}
		called[name]++
		if entry.Check || entry.Monitor {
			continue
		}
		for _, target := range entry.Subscribe {
			first := target
			if scope := r.cat.Entries[target].Scope; scope != nil {
				first -= scope.Entries
			}
			for i := first; i <= target; i++ {
				l.waiting[i] = append(l.waiting[i], waiter{j, target})
			}
		}
	}
	return len(l.keys) > 0
}

// damaged sets aside a journal that cannot be trusted, and adds notes for all who
// subscribe: to refresh once more than needed does no harm that the next change
// would not do, and what is not restarted runs on with what it once read. Without
// an error it was set aside before an earlier catalog, whose notes stay.
func (l *ledger) damaged(err error) {
	if err != nil {
		var moved string
		if l.cat.Check {
			l.err = l.journal.MayWrite()
		} else if moved, l.err = l.journal.SetAside(); l.err == nil {
			moved = "; it is now " + moved
		}
		if l.err != nil {
			l.err = unreadable(err, l.err)
			return
		}
		l.warning = fmt.Sprintf("which refreshes are due cannot be read, so all that subscribe are refreshed: %v%s", err, moved)
	}
	for _, j := range slices.Sorted(maps.Keys(l.keys)) {
		if key := l.keys[j]; l.find(key) == nil {
			n := dueNote{Resource: key.resource, Nth: key.nth, Time: l.now().UTC()}
			l.notes = append(l.notes, &due{dueNote: n, earlier: true, causes: map[int]int{}})
		}
	}
}

// unreadable is what is wrong with a journal that cannot even be set aside.
func unreadable(read, aside error) error {
	if read.Error() == aside.Error() {
		return fmt.Errorf("which refreshes are due cannot be read: %w", read)
	}
	return fmt.Errorf("which refreshes are due cannot be read: %w; %w", read, aside)
}

// assign finds the entries that are to serve the notes. Of several that are called
// alike it is the same as in the run that wrote the note, if there are as many.
func (l *ledger) assign() {
	byName := map[string][]int{}
	for _, j := range slices.Sorted(maps.Keys(l.keys)) {
		byName[l.keys[j].resource] = append(byName[l.keys[j].resource], j)
	}
	for _, d := range l.notes {
		if entries := byName[d.Resource]; len(entries) > 0 && !l.served[d.key()] {
			j := entries[min(d.Nth, len(entries)-1)]
			l.owed[j] = append(l.owed[j], d)
		}
	}
}

// due gives what an earlier run has left for an entry to do; nil is nothing.
func (l *ledger) due(j int) (*dueNote, error) {
	if _, subscribes := l.keys[j]; subscribes && l.err != nil {
		return nil, l.err
	}
	for _, d := range l.owed[j] {
		if !l.failsAgain(d, j) {
			return &d.dueNote, nil
		}
	}
	return nil, nil
}

// failsAgain reports whether what a note of a failure is about has failed again.
func (l *ledger) failsAgain(d *due, j int) bool {
	for i := 0; d.Failed && i < j; i++ {
		if l.failed[i] && l.ref(i) == d.Changed {
			return true
		}
	}
	return false
}

// ref is what a note calls the resource that has changed.
func (l *ledger) ref(i int) string {
	return clip(strings.ToValidUTF8(l.cat.Entries[i].Ref(), "\uFFFD"), maxDueText)
}

// foresee tells whether announce could do its work for an entry.
func (l *ledger) foresee(i int) error {
	if len(l.waiting[i]) == 0 {
		return nil
	}
	return unnoted(errors.Join(l.err, l.journal.MayWrite()))
}

// announce notes who is to be refreshed once these entries have been carried out. If
// it fails, they must not be.
func (l *ledger) announce(entries []int) error {
	news := false
	for _, i := range entries {
		for _, w := range l.waiting[i] {
			if l.err != nil {
				return unnoted(l.err)
			}
			key := l.keys[w.subscriber]
			d := l.find(key)
			if d == nil {
				d = &due{dueNote: l.note(i, key), causes: map[int]int{}}
				l.notes = append(l.notes, d)
			}
			d.causes[i] = w.target
			news = l.settle(d) || news
		}
	}
	if !news {
		return nil
	}
	err := l.save()
	if err != nil {
		for _, i := range entries {
			l.forget(i)
		}
	}
	return unnoted(err)
}

func unnoted(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("not done, because it cannot be noted what is to be refreshed after it: %w", err)
}

func (l *ledger) note(i int, key dueKey) dueNote {
	n := dueNote{Resource: key.resource, Nth: key.nth, Changed: l.ref(i), Time: l.now().UTC()}
	if l.cat.Lock != nil {
		n.Run = clip(l.cat.Lock.Run, maxDueText)
	}
	return n
}

func (l *ledger) find(key dueKey) *due {
	if i := slices.IndexFunc(l.notes, func(d *due) bool { return d.key() == key }); i >= 0 {
		return l.notes[i]
	}
	return nil
}

// forget takes back what was announced for an entry that turned out to change
// nothing, and reports whether the journal has to be written.
func (l *ledger) forget(i int) (news bool) {
	for _, w := range l.waiting[i] {
		if d := l.find(l.keys[w.subscriber]); d != nil {
			delete(d.causes, i)
			news = l.settle(d) || news
		}
	}
	return news
}

// fail notes that an entry has failed and may have changed something before, and
// reports whether the journal has to be written.
func (l *ledger) fail(i int) (news bool) {
	for _, w := range l.waiting[i] {
		if d := l.find(l.keys[w.subscriber]); d != nil {
			news = l.settle(d) || news
		}
	}
	return news
}

// settle removes a note that nothing asks for any more, or has it name another
// cause, and reports whether the journal has to be written.
func (l *ledger) settle(d *due) bool {
	switch {
	case d.earlier: // stays until it is served
	case len(d.causes) == 0:
		l.notes = slices.DeleteFunc(l.notes, func(other *due) bool { return other == d })
		return true
	default:
		i, failed := l.cause(d)
		d.dueNote = l.note(i, d.key())
		d.Failed = failed
	}
	now := l.written(d)
	return now.Changed != d.saved.Changed || now.Failed != d.saved.Failed
}

// cause is the first entry of this catalog that a note follows from: one that has
// failed only if all have.
func (l *ledger) cause(d *due) (i int, failed bool) {
	causes := slices.Sorted(maps.Keys(d.causes))
	first := slices.IndexFunc(causes, func(i int) bool { return !l.failed[i] })
	return causes[max(0, first)], first < 0
}

// written is a note as the journal shall have it: what is left of a failure, which
// may fail again and then refreshes nobody, must not hide a change.
func (l *ledger) written(d *due) dueNote {
	if d.earlier && d.Failed && len(d.causes) > 0 {
		if i, failed := l.cause(d); !failed {
			return l.note(i, d.key())
		}
	}
	return d.dueNote
}

// done removes what was due for an entry whose turn has ended well, and reports
// whether the journal has to be written. A target that failed has refreshed nobody,
// and may yet have changed something: what it is the cause of stays.
func (l *ledger) done(j int, changed func(target int) bool) (news bool) {
	var mine []*due
	for _, d := range l.owed[j] {
		if !l.failsAgain(d, j) {
			d.earlier = false
			mine = append(mine, d)
		}
	}
	delete(l.owed, j)
	if d := l.find(l.keys[j]); d != nil {
		maps.DeleteFunc(d.causes, func(_, target int) bool { return changed(target) })
		if !slices.Contains(mine, d) {
			mine = append(mine, d)
		}
	}
	for _, d := range mine {
		news = l.settle(d) || news
	}
	return news
}

// save writes the journal.
func (l *ledger) save() error {
	if len(l.notes) == 0 {
		return l.journal.Replace(nil)
	}
	if len(l.notes) > maxDue {
		return fmt.Errorf("%d refreshes are due already; run the manifests that they belong to", maxDue)
	}
	var all dueText
	for _, d := range l.notes {
		all.Refresh = append(all.Refresh, l.written(d))
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := l.journal.Replace(append(text, '\n')); err != nil {
		return err
	}
	for i, d := range l.notes {
		d.saved = all.Refresh[i]
	}
	return nil
}

// serve notes that the turn of an entry has ended well.
func (r *run) serve(i int, report modules.Reporter) {
	key, subscribes := r.ledger.keys[i]
	switch {
	case !subscribes || r.cat.Entries[i].Monitor:
	case r.cat.Check && !r.cat.Entries[i].Check:
		for _, d := range r.ledger.owed[i] {
			r.served[d.key()] = true
		}
	case !r.checked(i):
		changed := func(target int) bool { return r.results[target].changed }
		if !r.ledger.done(i, changed) {
			return
		}
		if err := r.ledger.save(); err != nil {
			report.Message("warning", fmt.Sprintf("the next run will refresh %s again, since it could not be noted that it is done: %v", key.resource, err))
		}
	}
}
