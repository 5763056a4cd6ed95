package notes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Log is a file on the host that grows line by line. *system.Log is one.
type Log interface {
	// Read returns the whole log; nil if it is empty. An error means that its content cannot be trusted.
	Read() ([]byte, error)
	// Append adds a line. A durable one outlives a crash of the host.
	Append(line []byte, durable bool) error
	// Replace replaces the log by text; an empty text removes it.
	Replace(text []byte) error
}

// Results are the results of applying catalogs, kept on the host until another run begins. A run continues from them
// after a lost connection, as does a run that resumes another one ([wire.Lock].First), and a controller that comes late
// repeats nothing. The next run reports results that no controller has acknowledged. The host's lock guards them. The
// zero value keeps none; its methods may be called at any time.
type Results struct {
	mu       sync.Mutex
	log      Log            // nil before it has been opened
	catalogs []*keptCatalog // the oldest first
	current  *keptCatalog   // catalog whose results are being added, or nil
	lost     []forgotten    // plays whose commands have been forgotten, the oldest first
	size     int            // size of the log, in bytes
	pending  []byte         // lines that are not in the log yet
	full     bool           // only records of commands are added
	broken   error          // nothing more is added, for this error; nil if the log can be written
	failed   error          // broken, until [Results.Finish] has said so
}

// A keptCatalog is the results of one catalog.
type keptCatalog struct {
	header   resultsHeader
	finished []*Finished
	attempts []*Attempt // attempts of entries without a result
	ended    bool
}

// resultsFormat is the format of the lines. A log of a newer host program is not changed.
const resultsFormat = 1

// A resultsLine is one line of the log, with one field set.
type resultsLine struct {
	Begin    *resultsHeader `json:"begin,omitempty"` // continues a catalog with the same header
	Finished *Finished      `json:"finished,omitempty"`
	Attempt  *Attempt       `json:"attempt,omitempty"`
	Dropped  []int          `json:"dropped,omitempty"` // entries that a resuming run tries again
	End      bool           `json:"end,omitempty"`
	Told     *wire.Ack      `json:"told,omitempty"` // acknowledges the finished part of a catalog
	// Forgotten are plays whose commands have been forgotten.
	Forgotten []forgotten `json:"forgotten,omitempty"`
}

type resultsHeader struct {
	Format int       `json:"format"`
	Run    string    `json:"run"`
	Play   int       `json:"play"`
	For    string    `json:"for,omitempty"` // [wire.Once].For
	Hash   string    `json:"hash"`          // hash of the catalog's entries
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
	First  string    `json:"first,omitempty"` // and Epoch: see [wire.Lock]
	Epoch  int       `json:"epoch,omitempty"`
}

// same reports whether two catalogs are of one play, or one resource that runs here for another host.
func (h *resultsHeader) same(other *resultsHeader) bool {
	return h.Play == other.Play && h.For == other.For
}

// continues reports whether the run that works on current continues this catalog later: it belongs to the same chain of
// runs and to a later play, or one of them is a resource that runs here for another host. A catalog that current replaces,
// because the manifest has changed, is not continued.
func (h *resultsHeader) continues(current *resultsHeader) bool {
	if h.same(current) && h.Run != current.Run {
		return false
	}
	later := h.Play < wire.MaxPlays && h.Play > current.Play%wire.MaxPlays
	return h.origin() == current.origin() && (h.For != "" || current.For != "" || later)
}

// origin is [wire.Lock.Origin].
func (h *resultsHeader) origin() string { return cmp.Or(h.First, h.Run) }

// Finished is an entry that has had its turn.
type Finished struct {
	Result    *wire.Result               `json:"result"`
	Type      string                     `json:"type"`
	Name      string                     `json:"name"`
	Sensitive bool                       `json:"sensitive,omitempty"`
	Changed   bool                       `json:"changed,omitempty"`   // whatever became of it later
	Unmet     bool                       `json:"unmet,omitempty"`     // it was skipped for a requirement
	Command   string                     `json:"command,omitempty"`   // [Attempt].Command of the command that was started; "" if none was
	RunsOnce  bool                       `json:"runs_once,omitempty"` // and it must not start again
	Elsewhere bool                       `json:"elsewhere,omitempty"` // it ran on another host, which keeps its own result
	Register  bool                       `json:"register,omitempty"`  // the controller uses the result, also to continue
	Epoch     int                        `json:"epoch,omitempty"`     // [wire.Lock].Epoch of the run that ran the entry
	Before    []string                   `json:"before,omitempty"`    // errors of the entry in earlier runs, which the result reports
	Sent      map[string]json.RawMessage `json:"sent,omitempty"`      // values for later entries

	told bool // a controller has acknowledged it
}

// maxFailures bounds how many failures of one entry are known in later runs.
const maxFailures = 10

// Failures returns the errors of an entry that is tried again, the oldest first. They include errors of earlier runs
// unless a controller has acknowledged the result.
func (f *Finished) Failures() (all []string) {
	if !f.told {
		all = slices.Clone(f.Before)
	}
	if f.Result.Status == wire.Failed {
		all = append(all, f.Result.Error)
	}
	return all[max(0, len(all)-maxFailures):]
}

// maxResults bounds the log, in bytes. Further results are not reported later; a run that continues checks these
// entries again.
const maxResults = 8 << 20

// Open reads a log. The caller holds the host's lock. After an error nothing is kept.
func (r *Results) Open(log Log) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := log.Read()
	if err != nil {
		return err
	}
	if err := r.read(text); err != nil {
		return err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		// An incomplete line must not precede the next one.
		if err := log.Replace(text[:bytes.LastIndexByte(text, '\n')+1]); err != nil {
			return err
		}
	}
	r.log = log
	return nil
}

// read parses the text of a log.
func (r *Results) read(text []byte) error {
	r.catalogs, r.current, r.lost, r.size, r.pending, r.full, r.broken = nil, nil, nil, len(text), nil, false, nil
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			break // the program was killed as it wrote this
		}
		var l resultsLine
		err := json.Unmarshal(line, &l)
		if err == nil {
			err = r.add(&l)
		}
		if err != nil {
			r.catalogs = nil
			return fmt.Errorf("the results of earlier runs cannot be read: %w", err)
		}
	}
	return nil
}

// AllTold reports whether all results in a log have been acknowledged.
func AllTold(text []byte) bool {
	var r Results
	return r.read(text) == nil && !slices.ContainsFunc(r.catalogs, func(c *keptCatalog) bool { return !c.told() })
}

func (r *Results) add(l *resultsLine) error {
	n := len(r.catalogs)
	switch {
	case l.Begin != nil && l.Begin.Format > resultsFormat:
		return fmt.Errorf("a newer ccm-push has written results of run %.64q in format %d, so they are not changed", l.Begin.Run, l.Begin.Format)
	case l.Begin != nil:
		if c, _, _ := r.goOn(l.Begin); c == nil {
			r.catalogs = append(r.catalogs, &keptCatalog{header: *l.Begin})
		}
	case len(l.Forgotten) > 0:
		r.lost = l.Forgotten
	case n == 0:
		return errors.New("the results of earlier runs have no first line")
	case l.Finished != nil && l.Finished.Result != nil:
		r.catalogs[n-1].add(l.Finished)
	case l.Attempt != nil:
		r.catalogs[n-1].attempt(l.Attempt)
	case len(l.Dropped) > 0:
		r.catalogs[n-1].drop(l.Dropped)
	case l.End:
		r.catalogs[n-1].ended = true
	case l.Told != nil:
		for _, c := range r.of(*l.Told) {
			c.tell()
		}
	}
	return nil
}

// goOn returns the catalog that h continues: it belongs to the last run here, or to one that the run of h resumes. goOn
// moves the catalog to the end and gives it the run of h; by is its former run if that is another one. Without such a
// catalog, changed reports whether a resumed run had the play with other entries. Results of before another, unrelated
// run do not count.
func (r *Results) goOn(h *resultsHeader) (c *keptCatalog, by string, changed bool) {
	for i, c := range slices.Backward(r.catalogs) {
		switch was := c.header; {
		case was.origin() != h.origin():
			return nil, "", changed
		case was.same(h) && was.Hash == h.Hash:
			r.catalogs = append(slices.Delete(r.catalogs, i, i+1), c)
			if was.Run != h.Run {
				by = was.Run
			}
			c.header.Run, c.header.Holder, c.header.First, c.header.Epoch = h.Run, h.Holder, h.First, h.Epoch
			return c, by, false
		}
		changed = changed || c.header.same(h) && c.header.Run != h.Run
	}
	return nil, "", changed
}

// drop removes the results of entries.
func (c *keptCatalog) drop(entries []int) {
	c.finished = slices.DeleteFunc(c.finished, func(f *Finished) bool { return slices.Contains(entries, f.Result.Index) })
	c.ended = c.ended && len(entries) == 0
}

// of returns the catalogs of an acknowledgement.
func (r *Results) of(ack wire.Ack) (all []*keptCatalog) {
	for _, c := range r.catalogs {
		if c != r.current && c.header.Run == ack.Run && c.header.same(&resultsHeader{Play: ack.Play, For: ack.For}) {
			all = append(all, c)
		}
	}
	return all
}

// told reports whether all results of a catalog have been acknowledged.
func (c *keptCatalog) told() bool {
	return !slices.ContainsFunc(c.finished, func(f *Finished) bool { return !f.told }) && !slices.ContainsFunc(c.attempts, (*Attempt).untold)
}

// changed reports whether something was changed.
func (c *keptCatalog) changed() bool {
	return len(c.attempts) > 0 || slices.ContainsFunc(c.finished, func(f *Finished) bool { return f.Changed || f.Command != "" })
}

// tell records that all results have been acknowledged. After the end of a catalog, it keeps only the parts that
// prevent a repetition, and registered results. Other parts are removed, since output of commands and contents of files
// may be secrets that only the controller knows. shorter reports whether anything was removed.
func (c *keptCatalog) tell() (shorter bool) {
	for _, a := range c.attempts {
		a.told = true
	}
	for _, f := range c.finished {
		f.told = true
		if c.ended && !f.Register && f.shorten() {
			shorter = true
		}
	}
	return shorter
}

// shorten removes the texts of the result, and reports whether there were any.
func (f *Finished) shorten() bool {
	r := f.Result
	f.Before = nil
	if r.Error == "" && r.Diff == "" && r.Exit == nil && r.State == nil && len(r.Messages)+len(r.Changes)+len(r.Health) == 0 {
		return false
	}
	short := *r
	short.Diff, short.Exit, short.State, short.Messages, short.Changes, short.Health = "", nil, nil, nil, nil, nil
	if !r.Unknown { // each run that continues reports it again
		short.Error = ""
	}
	f.Result = &short
	return short.Error != r.Error || !short.Unknown
}

// onlyCommands removes everything except the records of commands, without their texts.
func (c *keptCatalog) onlyCommands() {
	c.finished = slices.DeleteFunc(c.finished, func(f *Finished) bool {
		f.shorten()
		return f.Command == ""
	})
	c.ended = false
}

// add adds the result of an entry; after another turn the later result counts.
func (c *keptCatalog) add(f *Finished) {
	same := func(other *Finished) bool { return other.Result.Index == f.Result.Index }
	c.finished = append(slices.DeleteFunc(c.finished, same), f)
	if f.Result.Status != wire.Skipped { // a skipped entry has not checked the command
		c.over(f.Result.Index)
	}
}

// A Begun catalog has its earlier results.
type Begun struct {
	Finished []*Finished
	Attempts []*Attempt // commands that had begun, of entries without a result
	// Ran are commands that other catalogs of the play have run, in this run or one that it continues. They must not start
	// again.
	Ran   []*Finished
	Ended bool   // the results are complete
	By    string // run that began it, if this is a resume; "" if it is the same run
	New   bool   // it begins now
	// Changed reports that a resumed run had the play with other entries.
	Changed bool
	// Forgotten reports that the host has lost the record of commands that the run, or one that it resumes, has run in
	// this play.
	Forgotten bool
}

// ErrResumed reports that another run has resumed this one.
var ErrResumed = errors.New("another run has resumed this one")

// Begin begins a catalog, or continues it if only runs that this one resumes have begun since. The error is
// [ErrResumed] if such a run comes late.
func (r *Results) Begin(once wire.Once, lock wire.Lock, hash string, now time.Time) (b Begun, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		return b, nil
	}
	h := resultsHeader{resultsFormat, once.Run, once.Play, once.For, hash, lock.Holder, now, lock.First, lock.Epoch}
	before := slices.Clone(r.catalogs)
	if n := len(before); n > 0 {
		if last := &before[n-1].header; last.origin() == h.origin() && last.Epoch > h.Epoch {
			return b, fmt.Errorf("%w: run %s of %s", ErrResumed, clipText(last.Run), clipText(last.Holder))
		}
	}
	c, by, changed := r.goOn(&h)
	if c != nil {
		if r.current = c; by != "" || c != before[len(before)-1] {
			err = r.write(&resultsLine{Begin: &c.header}, false)
		}
		return Begun{Finished: slices.Clone(c.finished), Attempts: slices.Clone(c.attempts), Ended: c.ended, By: by, Forgotten: r.hasForgotten(&h)}, err
	}
	b.New, b.Changed, b.Ran = true, changed, ran(before, &h)
	if err := r.reduce(func(c *keptCatalog) bool {
		return c.told() && (c.header.origin() != h.origin() || r.size > maxResults/2)
	}); err != nil {
		return b, err
	}
	b.Forgotten = r.hasForgotten(&h)
	r.current = &keptCatalog{header: h}
	r.catalogs = append(r.catalogs, r.current)
	return b, r.write(&resultsLine{Begin: &h}, false)
}

// Drop removes the results of entries of the catalog: they have their turn again.
func (r *Results) Drop(entries []int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || len(entries) == 0 {
		return nil
	}
	r.current.drop(entries)
	return r.write(&resultsLine{Dropped: entries}, false)
}

// Finish keeps the result of an entry. A change is written at once, and outlives a crash of the host.
func (r *Results) Finish(f *Finished) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	r.current.ends(f)
	r.current.add(f)
	// A rescued entry is not tried again once its rescue has begun.
	err := r.write(&resultsLine{Finished: f}, f.Changed || f.Command != "" || f.Result.Status == wire.Rescued)
	err, r.failed = cmp.Or(err, r.failed), nil
	return err
}

// End ends the catalog for this run; whole reports that all entries are finished.
func (r *Results) End(whole bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.current
	if r.current = nil; current == nil {
		return nil
	}
	current.ended = current.ended || whole
	if whole {
		if err := r.write(&resultsLine{End: true}, false); err != nil {
			return err
		}
	}
	return r.flush(false)
}

// write adds a line for [Results.Flush]; a durable one is written at once.
func (r *Results) write(l *resultsLine, durable bool) error {
	if r.log == nil || r.broken != nil {
		return nil
	}
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	r.full = r.full || r.size+len(line) >= maxResults
	if r.full && l.ofCommand() {
		line, err = json.Marshal(l.short())
	}
	if r.full && !l.ofCommand() || err != nil {
		return err
	}
	r.size += len(line) + 1
	r.pending = append(append(r.pending, line...), '\n')
	if !durable {
		return nil
	}
	return r.flush(true)
}

// Flush writes the lines since the last time. It is called before they are reported.
func (r *Results) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flush(false)
}

func (r *Results) flush(durable bool) error {
	if len(r.pending) == 0 {
		return nil
	}
	err := r.log.Append(r.pending, durable)
	r.pending = nil
	if err != nil {
		r.broken, r.failed = err, err // a gap would look like entries without a turn
	}
	return err
}

// Untold returns changes and failures that no controller has acknowledged: of all catalogs except the current one and
// catalogs that its run continues later, which reports those as its own. A catalog without results is not reported.
func (r *Results) Untold() []*wire.Untold {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*wire.Untold
	for _, c := range r.catalogs {
		h := c.header
		if c == r.current || c.told() || r.current != nil && h.continues(&r.current.header) {
			continue
		}
		u := &wire.Untold{Run: clipText(h.Run), Play: h.Play, For: h.For, Holder: clipText(h.Holder), Since: h.Since}
		for _, f := range c.finished {
			one, worth := untold(f)
			switch {
			case !worth || f.told:
			case len(u.Results) == wire.MaxUntold:
				u.More++
			default:
				u.Results = append(u.Results, one)
			}
		}
		for _, a := range c.attempts {
			switch {
			case !a.untold():
			case len(u.Results) == wire.MaxUntold:
				u.More++
			default:
				u.Results = append(u.Results, wire.UntoldResult{Type: clipText(a.Type), Name: clipText(a.Name), Status: wire.Failed, Error: a.Lost(), Unknown: true})
			}
		}
		all = append(all, u)
	}
	return all
}

// untold returns the report of an entry, and whether it is worth one.
func untold(f *Finished) (one wire.UntoldResult, worth bool) {
	r := f.Result
	one = wire.UntoldResult{Type: clipText(f.Type), Name: clipText(f.Name), Status: r.Status, Unknown: r.Unknown}
	if !f.Sensitive {
		one.Message, one.Error = clipText(r.Message), clipText(r.Error)
	}
	return one, !r.Check && !f.Elsewhere && (r.Status == wire.Changed || r.Status.HasFailed())
}

func clipText(text string) string { return Clip(text, wire.MaxUntoldText) }

// Acknowledge records that a controller knows the results of a catalog. If nothing was changed, checking again does no
// harm, so the results are dropped. They are also dropped if no more results can be kept.
func (r *Results) Acknowledge(ack wire.Ack) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.of(ack)
	if r.log == nil || len(of) == 0 {
		return nil
	}
	chain := of[0].header.origin()
	if r.broken != nil || !slices.ContainsFunc(r.catalogs, func(c *keptCatalog) bool { return c.header.origin() == chain && c.changed() }) {
		for _, c := range of {
			c.tell()
		}
		return r.reduce(func(c *keptCatalog) bool { return slices.Contains(of, c) })
	}
	if !slices.ContainsFunc(of, func(c *keptCatalog) bool { return !c.told() }) {
		return nil
	}
	shorter := r.full
	for _, c := range of {
		shorter = c.tell() || shorter
		if r.full {
			c.onlyCommands()
		}
	}
	if shorter {
		return r.rewrite()
	}
	return errors.Join(r.write(&resultsLine{Told: &ack}, false), r.flush(false))
}

// Forget drops the results of a catalog: if its run continues it, it starts over.
func (r *Results) Forget(run string, play int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.of(wire.Ack{Run: run, Play: play})
	return r.forget(func(c *keptCatalog) bool { return slices.Contains(of, c) })
}

// forget removes catalogs from the log.
func (r *Results) forget(which func(*keptCatalog) bool) error {
	kept := slices.DeleteFunc(slices.Clone(r.catalogs), which)
	if len(kept) == len(r.catalogs) || r.log == nil {
		return nil
	}
	r.catalogs = kept
	return r.rewrite()
}

// rewrite replaces the log by the current state of all catalogs.
func (r *Results) rewrite() error {
	r.pending = nil
	var text bytes.Buffer
	var lines []*resultsLine
	for _, c := range r.catalogs {
		lines = append(lines, c.lines()...)
	}
	if len(r.lost) > 0 {
		lines = append(lines, &resultsLine{Forgotten: r.lost})
	}
	for _, l := range lines {
		line, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	r.size = text.Len()
	r.full = r.size >= maxResults
	return r.log.Replace(text.Bytes())
}

// lines returns the lines of the log for the current state of a catalog.
func (c *keptCatalog) lines() []*resultsLine {
	lines := []*resultsLine{{Begin: &c.header}}
	told := false
	for _, a := range c.attempts {
		if a.told {
			told = true
			lines = append(lines, &resultsLine{Attempt: a})
		}
	}
	for _, f := range c.finished {
		if told && !f.told { // acknowledged ones come first
			lines = append(lines, c.toldLine())
		}
		told = f.told
		lines = append(lines, &resultsLine{Finished: f})
	}
	if told {
		lines = append(lines, c.toldLine())
	}
	for _, a := range c.attempts {
		if !a.told {
			lines = append(lines, &resultsLine{Attempt: a})
		}
	}
	if c.ended {
		lines = append(lines, &resultsLine{End: true})
	}
	return lines
}

func (c *keptCatalog) toldLine() *resultsLine {
	return &resultsLine{Told: &wire.Ack{Run: c.header.Run, Play: c.header.Play, For: c.header.For}}
}
