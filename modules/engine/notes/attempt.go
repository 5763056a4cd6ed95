package notes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// An Attempt is a command of an entry that has begun. It is noted before the command starts, so that a run that
// continues the catalog knows of it if the host program ends before the command does.
type Attempt struct {
	Index int    `json:"i"`
	Type  string `json:"type"`
	Name  string `json:"name"`
	// Command identifies the command: a hash of type, name and properties.
	Command string `json:"command"`
	// Repeatable reports that the command may start again although its end was not seen.
	Repeatable bool `json:"repeatable,omitempty"`
	Tries      int  `json:"tries,omitempty"` // number of completed tries
	Running    bool `json:"running,omitempty"`

	told bool // a controller has acknowledged it
}

// CommandOf is [Attempt].Command.
func CommandOf(typ, name string, properties json.RawMessage) string {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(typ), []byte(name), properties} {
		sum.Write(append(part, 0))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// untold reports whether no controller knows that the command began.
func (a *Attempt) untold() bool { return a.Running && !a.told }

// Lost is the error of a result for a command whose end was not seen.
func (a *Attempt) Lost() string {
	return "the command had begun when the host program was killed or the host was restarted"
}

// Unknown is the result of an entry whose command must not start again.
func (a *Attempt) Unknown() *Finished {
	return &Finished{
		Result: &wire.Result{Index: a.Index, Status: wire.Failed, Unknown: true, Error: a.Lost()},
		Type:   a.Type, Name: a.Name, Command: a.Command, RunsOnce: true,
	}
}

// MustStay reports whether the result belongs to a command that has run, or may have, and must not start again.
func (f *Finished) MustStay() bool {
	return f.RunsOnce && (f.Result.Status == wire.Changed || f.Result.Unknown)
}

// ran returns the commands of the play of h that must not start again. Runs that the run of h continues have run them, or
// that run itself, if another run has begun since. Two hosts of an inventory may be one machine, so ran skips other catalogs
// of the same run. Each run repeats the steps of a rollout before and after a play, such as a drain.
func ran(catalogs []*keptCatalog, h *resultsHeader) (all []*Finished) {
	for _, c := range catalogs {
		if c.header.Run == h.Run && (c.header.Hash != h.Hash || c.header.For != h.For) || c.header.playOf() != h.playOf() || h.Play >= wire.MaxPlays {
			continue
		}
		for _, f := range c.finished {
			if f.MustStay() {
				all = append(all, f)
			}
		}
		for _, a := range c.attempts {
			if a.Running && !a.Repeatable {
				all = append(all, a.Unknown())
			}
		}
	}
	return all
}

// Attempt notes that a command begins, or that a try has ended and another one follows. When it returns nil for
// one that begins, the note survives a crash of the host.
func (r *Results) Attempt(a *Attempt) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || r.log == nil {
		return nil
	}
	r.current.attempt(a)
	if r.broken != nil {
		return r.broken
	}
	err := r.write(&resultsLine{Attempt: a}, a.Running)
	return cmp.Or(err, r.flush(false)) // the end of a try survives the host program
}

// ofCommand reports whether the line is about a command. Such lines are written even if the log is full: a run
// that continues must not start the command again.
func (l *resultsLine) ofCommand() bool {
	return l.Attempt != nil || l.Finished != nil && l.Finished.Command != ""
}

// short is the line without the texts of a result.
func (l *resultsLine) short() *resultsLine {
	if l.Finished == nil {
		return l
	}
	f := *l.Finished
	f.shorten()
	return &resultsLine{Finished: &f}
}

// ends adds the record of the entry's command to a result.
func (c *keptCatalog) ends(f *Finished) {
	for _, a := range c.attempts {
		if a.Index == f.Result.Index {
			f.Command, f.RunsOnce = a.Command, !a.Repeatable
		}
	}
}

// attempt replaces the record of the entry.
func (c *keptCatalog) attempt(a *Attempt) {
	c.over(a.Index)
	c.attempts = append(c.attempts, a)
}

// over forgets the attempt of an entry, which has a result.
func (c *keptCatalog) over(index int) {
	c.attempts = slices.DeleteFunc(c.attempts, func(a *Attempt) bool { return a.Index == index })
}
