package record

import (
	"cmp"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// A Progress describes how far a run got, for a run that resumes it.
type Progress struct {
	Plays []PlayProgress // as in the header

	runs    []string         // their ids, the run itself last
	telling sync.Mutex       // guards Told of plays, and untold
	untold  map[untoldOf]int // results that this run has reported as untold, by how often
}

// An untoldOf is a result of an earlier run, by the host that it is for.
type untoldOf struct {
	host, typeName, name string
	status               events.Status
}

// A PlayProgress describes how far a run got with a play.
type PlayProgress struct {
	events.SelectedPlay
	// Batches are the batches that were begun, in their order.
	Batches [][]string
	// Rollout is the progress of the play's rollout; nil if it has none, or had not begun.
	Rollout *rollout.Past
	// Done are the hosts that are known to have come through the play well.
	Done map[string]bool
	// Once has the finished results of resources that run once for all hosts of a batch.
	Once []OnceResult
	// Started are resources that had begun and have no result, or one with an unknown outcome.
	Started []events.ResourceStart
	// Told has the reported results of other hosts, by host, with their counts.
	Told map[string]map[ToldResult]int

	// left has resources that an undo of the run did not revert, by the run that changed them.
	left map[string]map[ResourceName]string
}

// A OnceResult is one of a batch, counted from 0.
type OnceResult struct {
	Batch int
	events.Result
}

// RanOnce returns the result of a resource that has run for the batch of a host. Its name has the form used in results.
func (p *PlayProgress) RanOnce(host, once string) (events.Result, bool) {
	for _, r := range p.Once {
		if r.Result.Once == once && slices.Contains(p.Batches[r.Batch], host) {
			return r.Result, true
		}
	}
	return events.Result{}, false
}

// BeganOnce returns the host on which a resource began that runs once for the batch of a host, and of which the outcome
// is not known; "" if it did not.
func (p *PlayProgress) BeganOnce(host, once string) string {
	for _, e := range p.Started {
		if e.Once == once && slices.ContainsFunc(p.Batches, func(b []string) bool { return slices.Contains(b, host) && slices.Contains(b, e.Host) }) {
			return e.Host
		}
	}
	return ""
}

// A ToldResult is a reported result of a resource.
type ToldResult struct {
	Type, Name, Alias string
	Status            events.Status
}

func toldOfResult(e events.Result) ToldResult { return ToldResult{e.Type, e.Name, e.Alias, e.Status} }

// An Origin is the first run of a chain in which each run resumes the one before, with the number of earlier runs in
// it.
type Origin struct {
	First string `json:"first,omitempty"`
	Epoch int    `json:"epoch,omitempty"`
}

// Next returns the origin of a run that resumes r: it is later than all others that have.
func (s Store) Next(r *Run) (Origin, error) {
	o := Origin{First: cmp.Or(r.Origin.First, r.Run)}
	all, err := s.List()
	for _, other := range append(all, r) {
		if other.Origin.First == o.First {
			o.Epoch = max(o.Epoch, other.Origin.Epoch)
		}
	}
	o.Epoch++
	return o, err
}

// Retold reports whether an earlier run has reported a result: the host has kept it since, or the resource changed
// nothing again. Each report counts once. An unknown outcome is reported by each run: it is not over. Retold may be
// called from several goroutines.
func (p *Progress) Retold(play int, e events.Result) bool {
	if p == nil || e.Unknown || !e.Earlier && (e.Status == events.Changed || e.Status.HasFailed()) {
		return false
	}
	if p.Plays[play].Done[e.Host] { // it has reported everything, and runs again for the values that others receive from it
		return true
	}
	p.telling.Lock()
	defer p.telling.Unlock()
	told, of := p.Plays[play].Told[e.Host], toldOfResult(e)
	if told[of] > 0 {
		told[of]--
		return true
	}
	untold := untoldOf{e.Host, e.Type, e.Name, e.Status}
	if p.untold[untold] == 0 {
		return false
	}
	p.untold[untold]--
	return true
}

// Untold notes results of an earlier run that this one has just reported. If it resumes that run with another manifest,
// the host also keeps them for the resources that have not changed.
func (p *Progress) Untold(e events.Untold) {
	if p == nil || !slices.Contains(p.runs, e.Earlier) {
		return
	}
	p.telling.Lock()
	defer p.telling.Unlock()
	if p.untold == nil {
		p.untold = map[untoldOf]int{}
	}
	for _, r := range e.Results {
		p.untold[untoldOf{cmp.Or(e.For, e.Host), r.Type, r.Name, r.Status}]++
	}
}

// Progress reads how far the run got, including the runs that it resumed.
func (r *Run) Progress(s Store) (*Progress, error) {
	p := &Progress{}
	if r.Resumes != "" {
		earlier, err := s.Find(r.Resumes)
		if err != nil {
			return nil, err
		}
		if p, err = earlier.Progress(s); err != nil {
			return nil, err
		}
	}
	p.runs = append(p.runs, r.Run)
	for i, play := range r.Plays {
		if i == len(p.Plays) {
			p.Plays = append(p.Plays, PlayProgress{Done: map[string]bool{}, Told: map[string]map[ToldResult]int{}})
		}
		if r.Resumes == "" {
			p.Plays[i].SelectedPlay = play
		}
	}
	tracker := newTracker(p, r.Plays)
	for e, err := range r.readable(tracker.table.Gap) {
		if err != nil {
			return nil, err
		}
		tracker.event(e)
	}
	tracker.end()
	return p, p.takenBack(r, s)
}

// takenBack marks hosts as not done if the run was undone on them: nothing of it is left, except the resources that the
// undo did not revert.
func (p *Progress) takenBack(r *Run, s Store) error {
	undos, err := s.undos(r)
	if err != nil || len(undos) == 0 {
		return err
	}
	left := map[resourceOf]bool{}
	reached := map[string][]*Run{} // undos that changed a host
	for _, undo := range undos {
		for e, err := range undo.Events() {
			if err != nil {
				return err
			}
			result, ok := e.(events.Result)
			switch {
			case !ok:
			case result.Status == events.Skipped:
				left[resourceOf{result.Host, result.Type, result.Name}] = true
			case result.Status == events.Changed || result.Changed:
				if slices.Contains(reached[result.Host], undo) {
					continue
				}
				reached[result.Host] = append(reached[result.Host], undo)
				for i := range p.Plays {
					p.Plays[i].takenBack(result.Host, undo)
				}
			}
		}
	}
	play := -1
	for e, err := range r.Events() {
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case events.PlayStart:
			play = e.Number - 1
		case events.Result:
			of, undos := resourceOf{e.Host, e.Type, e.Name}, reached[e.Host]
			omitted := len(undos) > 0 && !slices.ContainsFunc(undos, func(undo *Run) bool { return undo.selects(e) })
			if e.Changed && e.On == "" && (left[of] || omitted) && play >= 0 && play < len(p.Plays) {
				p.Plays[play].leave(e, r.Run)
			}
		}
	}
	return nil
}

type resourceOf struct{ host, typeName, name string }

// A ResourceName is a resource by its type and its name.
type ResourceName struct{ Type, Name string }

func (p *PlayProgress) leave(e events.Result, run string) {
	if p.left == nil {
		p.left = map[string]map[ResourceName]string{}
	}
	if p.left[e.Host] == nil {
		p.left[e.Host] = map[ResourceName]string{}
	}
	p.left[e.Host][ResourceName{e.Type, e.Name}] = run
}

// LeftOn returns the resources of a host that an undo did not revert, and the runs that have run them.
func (p *PlayProgress) LeftOn(host string) map[ResourceName]string { return p.left[host] }

// takenBack notes that the play, or what undo selects of it, is not on a host any more.
func (p *PlayProgress) takenBack(host string, undo *Run) {
	delete(p.Done, host)
	p.Once = slices.DeleteFunc(p.Once, func(r OnceResult) bool { return cmp.Or(r.On, r.Host) == host && undo.selects(r.Result) })
}

// A tracker follows a run from event to event. A host is done with a play if it ended well in the table of plays.
type tracker struct {
	progress *Progress
	table    *PlayTable
	play     int // current play; -1 before the first
	number   int // number of the current batch, from 0
}

func newTracker(p *Progress, plays []events.SelectedPlay) *tracker {
	return &tracker{progress: p, table: NewPlayTable(plays), play: -1}
}

func (t *tracker) event(e events.Event) {
	t.table.Report(e)
	switch e := e.(type) {
	case events.PlayStart:
		t.begin(e)
	case events.RolloutPlan, events.Gate, events.HostRolling, events.HostRolled:
		t.rollout(e)
	case events.Result:
		if !e.Repair {
			t.reported(e)
			t.told(e)
		}
	case events.ResourceStart:
		if t.play >= 0 {
			play := &t.progress.Plays[t.play]
			play.Started = append(play.Started, e)
		}
	}
}

// end notes which hosts are done with which plays.
func (t *tracker) end() {
	for host, ends := range t.table.Ends {
		for i, end := range ends {
			if end == events.StateOK {
				t.progress.Plays[i].isDone(host)
			}
		}
	}
}

// reported removes resources that had begun and have a result now.
func (t *tracker) reported(e events.Result) {
	if t.play < 0 || e.Check || e.Unknown {
		return
	}
	play := &t.progress.Plays[t.play]
	play.Started = slices.DeleteFunc(play.Started, func(s events.ResourceStart) bool {
		if s.Once != "" {
			return s.Once == e.Once && s.Host == e.Host
		}
		return s.Host == e.Host && s.Type == e.Type && s.Name == e.Name && s.Alias == e.Alias
	})
}

func (t *tracker) begin(e events.PlayStart) {
	if number := e.Number - 1; number >= 0 && number < len(t.progress.Plays) {
		t.play = number
		play := &t.progress.Plays[number]
		if e.Batch == 0 { // hosts are only queried for the coming changes
			return
		}
		if r := play.Rollout; r != nil {
			r.Batch = e.Batch
		}
		for len(play.Batches) < e.Batch {
			play.Batches = append(play.Batches, nil)
		}
		at := &play.Batches[e.Batch-1]
		known := map[string]bool{}
		for _, host := range *at {
			known[host] = true
		}
		for _, host := range e.Hosts { // in a resumed run: the remaining hosts
			if !known[host] {
				*at = append(*at, host)
			}
		}
		t.number = e.Batch - 1
	}
}

func (p *PlayProgress) isDone(host string) {
	p.Done[host] = true
	delete(p.Told, host)
}

// told notes the reported results of a host that may not be done.
func (t *tracker) told(e events.Result) {
	if t.play < 0 || e.Check || t.table.gaps && e.Play != t.progress.Plays[t.play].Name { // the start of its play is missing
		return
	}
	t.ranOnce(e)
	of := t.progress.Plays[t.play].Told
	if of[e.Host] == nil {
		of[e.Host] = map[ToldResult]int{}
	}
	of[e.Host][toldOfResult(e)]++
}

// ranOnce notes the resources that have run for all hosts of a batch. Failed ones are tried again.
func (t *tracker) ranOnce(e events.Result) {
	play := &t.progress.Plays[t.play]
	if e.Once == "" || t.number >= len(play.Batches) || e.Status != events.Changed && e.Status != events.Stable {
		return
	}
	if _, known := play.RanOnce(e.Host, e.Once); !known {
		play.Once = append(play.Once, OnceResult{t.number, e})
	}
}

// For returns the progress for plays that may have changed since. Each play gets the progress of the play with its
// name. If several plays have the same name, the nth gets the progress of the nth. A new play is for all hosts of the
// run.
func (p *Progress) For(plays []string) *Progress {
	var hosts []string
	for _, play := range p.Plays {
		hosts = append(hosts, play.Hosts...)
	}
	matched, seen := &Progress{runs: p.runs}, map[string]int{}
	for _, name := range plays {
		one := PlayProgress{SelectedPlay: events.SelectedPlay{Name: name, Hosts: hosts}}
		if i := nth(p.Plays, seen[name], func(old PlayProgress) bool { return old.Name == name }); i >= 0 {
			one = p.Plays[i]
		}
		seen[name]++
		matched.Plays = append(matched.Plays, one)
	}
	return matched
}

// nth is the index of the nth element, from 0, that is meant; -1 if there are not as many.
func nth(list []PlayProgress, n int, meant func(PlayProgress) bool) int {
	for i, one := range list {
		if meant(one) {
			if n--; n < 0 {
				return i
			}
		}
	}
	return -1
}

// Complete reports whether every host came through all of its plays.
func (p *Progress) Complete() bool {
	for _, play := range p.Plays {
		for _, host := range play.Hosts {
			if !play.Done[host] {
				return false
			}
		}
	}
	return true
}
