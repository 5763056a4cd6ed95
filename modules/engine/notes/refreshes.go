package notes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Earlier holds the effects of a session's earlier catalogs on the notes of refreshes.
type Earlier struct {
	predicted map[subscriber]bool // refreshes that would have been carried out by now, in a check run
	distrust  bool                // the notes were found damaged
}

// Clone returns a copy for a rehearsal.
func (e Earlier) Clone() Earlier {
	e.predicted = maps.Clone(e.predicted)
	return e
}

// Refreshes are the due refreshes during a catalog. Entries are named by their index.
type Refreshes struct {
	store   Store
	cat     *wire.Catalog
	now     func() time.Time
	earlier *Earlier
	err     error              // why nothing can be reported or recorded
	names   map[int]subscriber // names of subscribing entries
	waiting map[int][]waiter   // entry → who will act on its change
	notes   []*note            // content of the store, also if it is not written yet
	failed  map[int]bool       // entries that have failed
	owed    map[int][]*note    // entry → what an earlier run has left for it
}

// A waiter is an entry that subscribes to a target: the entry that changes, or one
// that stands for the nested manifest it belongs to.
type waiter struct{ entry, target int }

// A note is a refresh that is due, and where it comes from.
type note struct {
	Refresh
	earlier bool        // an earlier run has left it
	causes  map[int]int // entries of this catalog that will have changed something → their targets
	saved   Refresh     // as the store has it; zero if it does not
}

// OpenRefreshes reads the notes, if the catalog uses them. refreshes reports whether a subscribing entry can be
// refreshed. warning is for the user.
func OpenRefreshes(store Store, cat *wire.Catalog, earlier *Earlier, now func() time.Time, refreshes func(entry int) bool) (r *Refreshes, warning string) {
	if !cat.Check || earlier.predicted == nil {
		earlier.predicted = map[subscriber]bool{}
	}
	r = &Refreshes{
		store: store, cat: cat, now: now, earlier: earlier,
		names: map[int]subscriber{}, waiting: map[int][]waiter{}, failed: map[int]bool{}, owed: map[int][]*note{},
	}
	if store == nil || cat.Monitor || !r.findSubscribers(refreshes) && cat.From == 0 && !cat.Whole {
		return r, ""
	}
	var text refreshText
	err := read(store, &text)
	if err == nil {
		for _, n := range text.Refresh {
			r.notes = append(r.notes, &note{Refresh: n, earlier: true, causes: map[int]int{}, saved: n})
		}
	}
	if err != nil || earlier.distrust {
		warning = r.damaged(err)
		earlier.distrust = true // the records for later catalogs are unknown, too
	}
	spread := r.spread()
	r.assign()
	if left := r.dropLeft(); left != "" && warning == "" {
		warning = left
	}
	if cat.From > 0 && !cat.Check && r.err == nil && r.dropExcluded() {
		r.err = r.save()
	}
	if (earlier.distrust || spread) && !cat.Check && r.err == nil { // even if the run ends now
		r.err = r.save()
	}
	return r, warning
}

// findSubscribers finds the targets of each subscriber, and reports whether there is a subscriber.
func (r *Refreshes) findSubscribers(refreshes func(entry int) bool) bool {
	called := map[subscriber]int{}
	for j := range r.cat.Entries {
		entry := &r.cat.Entries[j]
		if len(entry.Subscribe) == 0 || entry.Excluded || entry.Hidden || !refreshes(j) {
			continue
		}
		name := nameOf(entry)
		name.nth = called[name]
		r.names[j] = name
		called[nameOf(entry)]++
		if entry.Check || entry.Monitor {
			continue
		}
		for _, target := range entry.Subscribe {
			first := target
			if scope := r.cat.Entries[target].Scope; scope != nil {
				first -= scope.Entries
			}
			for i := first; i <= target; i++ {
				r.waiting[i] = append(r.waiting[i], waiter{j, target})
			}
		}
	}
	return len(r.names) > 0
}

// damaged sets aside invalid notes, and adds notes for all subscribers: an unnecessary refresh does no more harm than
// the next change would, but a service that is not restarted keeps its old configuration. A nil err means that they
// were set aside before an earlier catalog, whose notes stay.
func (r *Refreshes) damaged(err error) (warning string) {
	if err != nil {
		var moved string
		if r.cat.Check {
			r.err = r.store.MayWrite()
		} else if moved, r.err = r.store.SetAside(); r.err == nil {
			moved = "; it is now " + moved
		}
		if r.err != nil {
			r.err = unreadable(err, r.err)
			return ""
		}
		warning = fmt.Sprintf("the record of due refreshes cannot be read, so all resources that subscribe are refreshed: %v%s", err, moved)
	}
	kept := false
	for _, j := range slices.Sorted(maps.Keys(r.names)) {
		name := r.names[j]
		if _, merges := servers[name.action]; !merges { // a needless restart does no harm, but a needless stop does
			kept = true
			continue
		}
		if r.find(name) == nil {
			n := Refresh{Resource: name.resource, Action: name.action, Nth: name.nth, Time: r.now().UTC()}
			r.notes = append(r.notes, &note{Refresh: n, earlier: true, causes: map[int]int{}})
		}
	}
	if kept && warning != "" {
		warning += "; events that start or stop a service are not"
	}
	return warning
}

// unreadable returns the error for notes that cannot even be set aside.
func unreadable(read, aside error) error {
	if read.Error() == aside.Error() {
		return fmt.Errorf("the record of due refreshes cannot be read: %w", read)
	}
	return fmt.Errorf("the record of due refreshes cannot be read: %w; %w", read, aside)
}

// servers lists, by the action of a note, the actions of the entries that may serve it if no entry has its action any
// more: best first. A note without an action comes from another resource than an event, or its action was not known.
var servers = map[string][]string{
	"":                    {modules.ActionRestart, modules.ActionReload},
	modules.ActionRestart: {"", modules.ActionReload},
	modules.ActionReload:  {modules.ActionRestart, ""},
}

// assign finds the entries that are to serve the notes. Of several that are called
// alike it is the same as in the run that wrote the note, if there are as many.
func (r *Refreshes) assign() {
	byName := map[subscriber][]int{}
	for _, j := range slices.Sorted(maps.Keys(r.names)) {
		name := r.names[j].first()
		byName[name] = append(byName[name], j)
	}
	for _, n := range r.notes {
		if r.earlier.predicted[n.subscriber()] {
			continue
		}
		for _, action := range n.served() {
			if entries := byName[subscriber{resource: n.Resource, action: action}]; len(entries) > 0 {
				j := entries[min(n.Nth, len(entries)-1)]
				r.owed[j] = append(r.owed[j], n)
				break
			}
		}
	}
}

// spread replaces each note of a resource that an earlier run could not compile and that has several entries now. Each of
// these entries that subscribes gets a note. spread reports whether it has replaced any.
func (r *Refreshes) spread() (any bool) {
	if len(r.notes) == 0 {
		return false
	}
	exact := map[string]bool{} // names of subscribers
	for _, name := range r.names {
		exact[name.resource] = true
	}
	parts := map[string][]int{} // subscribers, by their resource
	for k := range r.cat.Entries {
		e := &r.cat.Entries[k]
		first := k
		if e.Scope != nil {
			first -= e.Scope.Entries
		} else if e.Written == "" {
			continue
		}
		written := *e
		written.Name = cmp.Or(e.Written, e.Name)
		name := resourceName(&written)
		parts[name] = append(parts[name], -1) // the resource exists, even without subscribers
		for j := first; j <= k; j++ {
			if _, subscribes := r.names[j]; subscribes {
				parts[name] = append(parts[name], j)
			}
		}
	}
	var kept []*note
	for _, n := range r.notes {
		if parts[n.Resource] == nil || exact[n.Resource] {
			kept = append(kept, n)
		}
	}
	for _, n := range r.notes {
		if exact[n.Resource] {
			continue
		}
		for _, j := range parts[n.Resource] {
			any = true
			if name := r.names[j]; j >= 0 && !slices.ContainsFunc(kept, func(n *note) bool { return n.subscriber() == name }) {
				one := n.Refresh
				one.Resource, one.Action, one.Nth = name.resource, name.action, name.nth
				kept = append(kept, &note{Refresh: one, earlier: true, causes: map[int]int{}})
			}
		}
	}
	if any {
		r.notes = kept
	}
	return any
}

// dropLeft drops the refreshes of resources that have left their play: the catalog is the whole play and has
// the resource that changed, but no subscriber of that name. A check run reports them, too.
func (r *Refreshes) dropLeft() (warning string) {
	if r.err != nil || !r.cat.Whole || r.cat.Until > 0 || len(r.notes) == 0 {
		return ""
	}
	remains, changes := map[subscriber]bool{}, map[string]bool{}
	for i := range r.cat.Entries {
		e := &r.cat.Entries[i]
		changes[r.ref(i)] = true
		switch name := nameOf(e); {
		case len(e.Awaits) > 0 || e.Excluded || e.Hidden: // its action is not known
			remains[subscriber{resource: name.resource, nth: -1}] = true
		case len(e.Subscribe) > 0:
			remains[name] = true
		}
	}
	var left []string
	kept := slices.DeleteFunc(slices.Clone(r.notes), func(n *note) bool {
		gone := n.earlier && n.Play == Clip(r.cat.Play, maxName) && changes[n.Changed] && !remains[subscriber{resource: n.Resource, nth: -1}] &&
			!slices.ContainsFunc(n.served(), func(action string) bool { return remains[subscriber{resource: n.Resource, action: action}] })
		if gone {
			left = append(left, fmt.Sprintf("%s (%s)", n.subscriber().shown(), n.Why()))
		}
		return gone
	})
	if len(left) == 0 {
		return ""
	}
	warning = "a refresh was due, but its resource is no longer in the manifest or no longer subscribes: " + Clip(strings.Join(left, ", "), 8*maxName)
	if r.cat.Check {
		return warning
	}
	r.notes = kept
	if err := r.save(); err != nil {
		warning += "; it is reported again by the next run, since that could not be noted: " + err.Error()
	}
	return warning
}

// run returns the run of the catalog, in the form of the notes.
func (r *Refreshes) run() string {
	if r.cat.Lock == nil {
		return ""
	}
	return Clip(r.cat.Lock.Run, maxName)
}

// dropExcluded drops what earlier stages of the run have noted for entries that turn out to be
// excluded, and reports whether there was any.
func (r *Refreshes) dropExcluded() bool {
	excluded, remains := map[string]bool{}, map[subscriber]bool{}
	for i := range r.cat.Entries {
		e := &r.cat.Entries[i]
		if name := nameOf(e); e.Excluded {
			excluded[name.resource] = true
		} else if len(e.Subscribe) > 0 {
			remains[name] = true
		}
	}
	before := len(r.notes)
	r.notes = slices.DeleteFunc(r.notes, func(n *note) bool {
		return excluded[n.Resource] && !remains[n.subscriber().first()] && n.Run != "" && n.Run == r.run()
	})
	return len(r.notes) < before
}

// Recall takes up what an earlier stage of the run has noted of an entry that it has carried out.
func (r *Refreshes) Recall(i int) {
	if r.cat.From == 0 {
		return
	}
	for _, w := range r.waiting[i] {
		n := r.find(r.names[w.entry])
		if n == nil || n.Run == "" || n.Run != r.run() {
			continue
		}
		n.causes[i], n.earlier = w.target, false
		r.owed[w.entry] = slices.DeleteFunc(r.owed[w.entry], func(other *note) bool { return other == n })
	}
}

// Due returns the due refresh that an earlier run has left for an entry, or nil.
func (r *Refreshes) Due(j int) (*Refresh, error) {
	if _, subscribes := r.names[j]; subscribes && r.err != nil {
		return nil, r.err
	}
	for _, n := range r.owed[j] {
		if !r.failsAgain(n, j) {
			return &n.Refresh, nil
		}
	}
	return nil, nil
}

// Begins notes that an entry begins a try: nothing is known of its failure.
func (r *Refreshes) Begins(i int) { delete(r.failed, i) }

// Fails notes that an entry has failed.
func (r *Refreshes) Fails(i int) { r.failed[i] = true }

// failsAgain reports whether the note waits for a success: the resource that it names failed and has failed
// again, or it belongs to a manifest or block, to which the entry j subscribes and which has failed.
func (r *Refreshes) failsAgain(n *note, j int) bool {
	for i := range j {
		if r.ref(i) != n.Changed {
			continue
		}
		if n.Failed && r.failed[i] || slices.ContainsFunc(r.waiting[i], func(w waiter) bool {
			return w.entry == j && w.target != i && r.failed[w.target]
		}) {
			return true
		}
	}
	return false
}

// ref returns the name of a changed resource in notes.
func (r *Refreshes) ref(i int) string {
	return Clip(strings.ToValidUTF8(r.cat.Entries[i].Ref(), "\uFFFD"), maxName)
}

// Awaited reports whether any entry is refreshed once this one has changed.
func (r *Refreshes) Awaited(i int) bool { return len(r.waiting[i]) > 0 }

// MayAnnounce returns the error that Announce would return for an entry.
func (r *Refreshes) MayAnnounce(i int) error {
	if !r.Awaited(i) {
		return nil
	}
	return unnoted(errors.Join(r.err, r.store.MayWrite()))
}

// Announce records the subscribers to refresh after these entries are applied. After an error, the entries must not be
// applied.
func (r *Refreshes) Announce(entries ...int) error {
	news := false
	for _, i := range entries {
		for _, w := range r.waiting[i] {
			if r.err != nil {
				return unnoted(r.err)
			}
			name := r.names[w.entry]
			n := r.find(name)
			if n == nil {
				n = &note{Refresh: r.refresh(i, name), causes: map[int]int{}}
				r.notes = append(r.notes, n)
			}
			n.causes[i] = w.target
			news = r.settle(n) || news
		}
	}
	if !news {
		return nil
	}
	err := r.save()
	if err != nil {
		for _, i := range entries {
			r.forget(i)
		}
	}
	return unnoted(err)
}

func unnoted(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("not done, because the refreshes that it causes cannot be recorded: %w", err)
}

// refresh returns the record that a subscriber is due because of an entry.
func (r *Refreshes) refresh(i int, name subscriber) Refresh {
	n := Refresh{Resource: name.resource, Action: name.action, Nth: name.nth, Changed: r.ref(i), Time: r.now().UTC()}
	n.Run, n.Play = r.run(), Clip(r.cat.Play, maxName)
	return n
}

func (r *Refreshes) find(name subscriber) *note {
	if i := slices.IndexFunc(r.notes, func(n *note) bool { return n.subscriber() == name }); i >= 0 {
		return r.notes[i]
	}
	return nil
}

// Unannounce removes the announcement of an entry that has changed nothing.
func (r *Refreshes) Unannounce(i int) error {
	if !r.forget(i) {
		return nil
	}
	return r.save()
}

// Retract records the failure of an announced entry. If untouched reports that the host is unchanged, it removes the
// announcement. After an error the next run may refresh more than needed.
func (r *Refreshes) Retract(i int, untouched func() bool) error {
	if !r.Awaited(i) {
		return nil
	}
	r.Fails(i)
	var news bool
	if untouched() {
		news = r.forget(i)
	} else {
		news = r.settleAll(i)
	}
	if !news {
		return nil
	}
	return r.save()
}

// forget removes the announcement of an entry that has changed nothing, and reports whether the notes must be written.
func (r *Refreshes) forget(i int) (news bool) {
	for _, w := range r.waiting[i] {
		if n := r.find(r.names[w.entry]); n != nil {
			delete(n.causes, i)
			news = r.settle(n) || news
		}
	}
	return news
}

// settleAll settles the notes of all who wait for an entry.
func (r *Refreshes) settleAll(i int) (news bool) {
	for _, w := range r.waiting[i] {
		if n := r.find(r.names[w.entry]); n != nil {
			news = r.settle(n) || news
		}
	}
	return news
}

// settle removes a note without a cause, or sets another cause, and reports whether the notes must be written.
func (r *Refreshes) settle(n *note) bool {
	switch {
	case n.earlier: // stays until it is served
	case len(n.causes) == 0:
		r.notes = slices.DeleteFunc(r.notes, func(other *note) bool { return other == n })
		return true
	default:
		i, failed := r.cause(n)
		n.Refresh = r.refresh(i, n.subscriber())
		n.Failed = failed
	}
	now := r.written(n)
	return now.Changed != n.saved.Changed || now.Failed != n.saved.Failed
}

// cause returns the first entry of this catalog that causes a note: a failed one only if all have failed.
func (r *Refreshes) cause(n *note) (i int, failed bool) {
	causes := slices.Sorted(maps.Keys(n.causes))
	first := slices.IndexFunc(causes, func(i int) bool { return !r.failed[i] })
	return causes[max(0, first)], first < 0
}

// written returns the stored form of a note: a failure, which may fail again and then causes no refresh, must not hide
// a change.
func (r *Refreshes) written(n *note) Refresh {
	if n.earlier && n.Failed && len(n.causes) > 0 {
		if i, failed := r.cause(n); !failed {
			return r.refresh(i, n.subscriber())
		}
	}
	return n.Refresh
}

// Predict records that a check run predicts the due refresh of an entry.
func (r *Refreshes) Predict(j int) {
	if _, subscribes := r.names[j]; !subscribes {
		return
	}
	for _, n := range r.owed[j] {
		if !r.failsAgain(n, j) {
			r.earlier.predicted[n.subscriber()] = true
		}
	}
}

// Serve removes the due refresh of an entry whose turn has ended well. A failed target has caused no refresh, and may
// yet have changed something: the notes that it causes stay.
func (r *Refreshes) Serve(j int, changed func(target int) bool) error {
	name, subscribes := r.names[j]
	if !subscribes || !r.serve(j, changed) {
		return nil
	}
	if err := r.save(); err != nil {
		return fmt.Errorf("cannot record that %s was refreshed, so the next run will refresh it again: %w", name.shown(), err)
	}
	return nil
}

// serve is Serve, and reports whether the notes have to be written.
func (r *Refreshes) serve(j int, changed func(target int) bool) (news bool) {
	var mine []*note
	for _, n := range r.owed[j] {
		if !r.failsAgain(n, j) {
			n.earlier = false
			mine = append(mine, n)
		}
	}
	delete(r.owed, j)
	if n := r.find(r.names[j]); n != nil {
		maps.DeleteFunc(n.causes, func(_, target int) bool { return changed(target) })
		if !slices.Contains(mine, n) {
			mine = append(mine, n)
		}
	}
	for _, n := range mine {
		news = r.settle(n) || news
	}
	return news
}

// save writes the notes.
func (r *Refreshes) save() error {
	if len(r.notes) == 0 {
		return r.store.Replace(nil)
	}
	if len(r.notes) > maxRefreshes {
		return fmt.Errorf("%d refreshes are due already; run the manifests that they belong to", maxRefreshes)
	}
	var all refreshText
	for _, n := range r.notes {
		all.Refresh = append(all.Refresh, r.written(n))
	}
	text, err := format(&all)
	if err != nil {
		return err
	}
	if err := r.store.Replace(text); err != nil {
		return err
	}
	for i, n := range r.notes {
		n.saved = all.Refresh[i]
	}
	return nil
}
