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
	// Read gives all of it; nil if there is nothing. An error means that what is there
	// cannot be trusted.
	Read() ([]byte, error)
	// Append adds a line. A durable one outlives a crash of the host.
	Append(line []byte, durable bool) error
	// Replace puts text, or nothing if it is empty, in the place of what was there.
	Replace(text []byte) error
}

// Results are what entries of applying catalogs came to, kept on the host until a
// controller has acknowledged that it knows them: a run whose connection is lost goes on
// from there, and what nobody could be told is told by the next run. They are kept under
// the host's lock. The zero value keeps none; its methods may be called at any time.
type Results struct {
	mu       sync.Mutex
	log      Log            // nil before it has been opened
	catalogs []*keptCatalog // the oldest first
	current  *keptCatalog   // whose results are being added; nil if there is none
	size     int            // of the log, in bytes
	pending  []byte         // lines that are not in the log yet
	full     bool           // nothing more is added
	failed   error          // why, until [Results.Finish] has said so
}

// A keptCatalog is the results of one catalog.
type keptCatalog struct {
	header   resultsHeader
	finished []*Finished
	ended    bool
}

// resultsFormat is that of the lines. What a newer host program has written is left alone.
const resultsFormat = 1

// A resultsLine is one line of the log, with one field set.
type resultsLine struct {
	Begin    *resultsHeader `json:"begin,omitempty"`
	Finished *Finished      `json:"finished,omitempty"`
	End      bool           `json:"end,omitempty"`
}

type resultsHeader struct {
	Format int       `json:"format"`
	Run    string    `json:"run"`
	Play   int       `json:"play"`
	Hash   string    `json:"hash"` // of the catalog's entries
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

// Finished is an entry that has had its turn.
type Finished struct {
	Result    *wire.Result               `json:"result"`
	Type      string                     `json:"type"`
	Name      string                     `json:"name"`
	Sensitive bool                       `json:"sensitive,omitempty"`
	Changed   bool                       `json:"changed,omitempty"` // whatever became of it later
	Unmet     bool                       `json:"unmet,omitempty"`   // it was skipped for a requirement
	Sent      map[string]json.RawMessage `json:"sent,omitempty"`    // what it has for entries behind it
}

// maxResults bounds the log, in bytes. What is beyond it is checked again by a run that goes
// on, and told by nobody.
const maxResults = 8 << 20

// Open reads what is kept in a log. The host's lock is held. After an error nothing is kept.
func (r *Results) Open(log Log) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := log.Read()
	if err != nil {
		return err
	}
	r.catalogs, r.current, r.size, r.pending, r.full = nil, nil, len(text), nil, false
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
			return fmt.Errorf("what earlier runs have left there cannot be read: %w", err)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		// A line that is cut off must not stand before the next one.
		if err := log.Replace(text[:bytes.LastIndexByte(text, '\n')+1]); err != nil {
			return err
		}
	}
	r.log = log
	return nil
}

func (r *Results) add(l *resultsLine) error {
	n := len(r.catalogs)
	switch {
	case l.Begin != nil && l.Begin.Format > resultsFormat:
		return fmt.Errorf("a newer ccm-push has left results of run %.64q there, in format %d, and they are left alone", l.Begin.Run, l.Begin.Format)
	case l.Begin != nil:
		r.catalogs = append(r.catalogs, &keptCatalog{header: *l.Begin})
	case n == 0:
		return errors.New("what earlier runs have left there has no beginning")
	case l.Finished != nil && l.Finished.Result != nil:
		r.catalogs[n-1].add(l.Finished)
	case l.End:
		r.catalogs[n-1].ended = true
	}
	return nil
}

// add adds what an entry came to; one that had its turn again counts by that.
func (c *keptCatalog) add(f *Finished) {
	same := func(other *Finished) bool { return other.Result.Index == f.Result.Index }
	c.finished = append(slices.DeleteFunc(c.finished, same), f)
}

// Begin begins a catalog, or goes on with it if it was the last one here: finished is then
// what has come of it, and ended whether that is all.
func (r *Results) Begin(once wire.Once, hash, holder string, now time.Time) (finished []*Finished, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		return nil, false, nil
	}
	if n := len(r.catalogs); n > 0 {
		last := r.catalogs[n-1]
		if h := last.header; h.Run == once.Run && h.Play == once.Play && h.Hash == hash {
			r.current = last
			return last.finished, last.ended, nil
		}
	}
	h := resultsHeader{resultsFormat, once.Run, once.Play, hash, holder, now}
	r.current = &keptCatalog{header: h}
	r.catalogs = append(r.catalogs, r.current)
	return nil, false, r.write(&resultsLine{Begin: &h}, false)
}

// Finish keeps what an entry came to. What was changed is written at once, and outlives a
// crash of the host.
func (r *Results) Finish(f *Finished) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return nil
	}
	r.current.add(f)
	// What is rescued is not tried again once its rescue has begun.
	err := r.write(&resultsLine{Finished: f}, f.Changed || f.Result.Status == wire.Rescued)
	err, r.failed = cmp.Or(err, r.failed), nil
	return err
}

// End says that the run is done with the catalog; whole that all of it has been finished.
func (r *Results) End(whole bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.current
	if r.current = nil; current == nil {
		return nil
	}
	if current.ended = whole; whole {
		if err := r.write(&resultsLine{End: true}, false); err != nil {
			return err
		}
	}
	return r.flush(false)
}

// write adds a line to those that [Results.Flush] writes; durable ones do not wait for that.
func (r *Results) write(l *resultsLine, durable bool) error {
	if r.log == nil || r.full {
		return nil
	}
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if r.size += len(line) + 1; r.size > maxResults {
		r.full = true
		return nil
	}
	r.pending = append(append(r.pending, line...), '\n')
	if !durable {
		return nil
	}
	return r.flush(true)
}

// Flush writes what has been kept since the last time. It is called before that is told.
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
		r.full, r.failed = true, err // a gap would be taken for what has not been done
	}
	return err
}

// Untold gives what runs have changed, or failed at, that no controller has acknowledged:
// of all catalogs but the current one. One without results need not be told.
func (r *Results) Untold() []*wire.Untold {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*wire.Untold
	for _, c := range r.catalogs {
		h := c.header
		if c == r.current {
			continue
		}
		u := &wire.Untold{Run: clipText(h.Run), Play: h.Play, Holder: clipText(h.Holder), Since: h.Since}
		for _, f := range c.finished {
			one, worth := untold(f)
			switch {
			case !worth:
			case len(u.Results) == wire.MaxUntold:
				u.More++
			default:
				u.Results = append(u.Results, one)
			}
		}
		all = append(all, u)
	}
	return all
}

// untold is what is told of an entry, if that is worth it.
func untold(f *Finished) (one wire.UntoldResult, worth bool) {
	r := f.Result
	one = wire.UntoldResult{Type: clipText(f.Type), Name: clipText(f.Name), Status: r.Status}
	if !f.Sensitive {
		one.Message, one.Error = clipText(r.Message), clipText(r.Error)
	}
	return one, !r.Check && (r.Status == wire.Changed || r.Status.HasFailed())
}

func clipText(text string) string { return Clip(text, wire.MaxUntoldText) }

// Acknowledge forgets the results of a catalog that a controller knows.
func (r *Results) Acknowledge(ack wire.Ack) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(r.catalogs), func(c *keptCatalog) bool {
		return c != r.current && c.header.Run == ack.Run && c.header.Play == ack.Play
	})
	if len(kept) == len(r.catalogs) || r.log == nil {
		return nil
	}
	r.catalogs, r.pending = kept, nil
	var text bytes.Buffer
	for _, c := range kept {
		lines := []*resultsLine{{Begin: &c.header}}
		for _, f := range c.finished {
			lines = append(lines, &resultsLine{Finished: f})
		}
		if c.ended {
			lines = append(lines, &resultsLine{End: true})
		}
		for _, l := range lines {
			line, err := json.Marshal(l)
			if err != nil {
				return err
			}
			text.Write(append(line, '\n'))
		}
	}
	r.size = text.Len()
	return r.log.Replace(text.Bytes())
}
