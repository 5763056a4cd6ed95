package wire

import (
	"errors"
	"fmt"
	"time"
)

// A Watch has the host go on with a catalog that it has checked: until another catalog of the
// same play comes, or the session ends, it tells with [Watched] what has become of its entries.
// Such a catalog is a check that is forgotten ([Catalog].Rehearsal), takes no lock, and needs the
// full host program.
type Watch struct {
	Play int `json:"play"` // its number, from 1
	// Settle is how long nothing may be heard of an entry before it is checked, and Longest how
	// long it is put off for that at most.
	Settle  time.Duration `json:"settle"`
	Longest time.Duration `json:"longest"`
	// Poll is in what time every entry is checked once, whether or not something was heard of
	// it; 0 is never.
	Poll time.Duration `json:"poll,omitempty"`
	// Quiet are absolute paths on the host: while one of them is there, nothing is told.
	Quiet []string `json:"quiet,omitempty"`
}

// An EntryWatch is what of a [Watch] is otherwise for one entry.
type EntryWatch struct {
	Off    bool           `json:"off,omitempty"` // it is checked only for those that depend on it, and not told
	Settle time.Duration  `json:"settle,omitempty"`
	Poll   *time.Duration `json:"poll,omitempty"`
}

// Watched tells of a catalog under watch what has come out otherwise than it was told last, by
// its results or by an earlier one of these.
type Watched struct {
	Play    int       `json:"play"` // [Watch].Play
	Results []*Result `json:"results,omitempty"`
	Writers []Writer  `json:"writers,omitempty"` // of those results, as far as they are known
	// Polled are all entries of which nothing is heard, told when that is known and when it
	// changes. Heard says that it is told here; those of the next ones without Heard, if they
	// have any, are more of the same list.
	Polled []Polled `json:"polled,omitempty"`
	Heard  bool     `json:"heard,omitempty"`
	// Missed says why all entries were checked although nothing was heard of them: the queue of
	// events had overflown, the host had slept. "" for any other reason.
	Missed string `json:"missed,omitempty"`
}

// A Writer is who has changed what an entry looks after, as the host knows it. It is a hint for
// people.
type Writer struct {
	Index   int    `json:"i"`
	Run     string `json:"run,omitempty"`    // a run of this tool, at work or noted as the last one there
	Holder  string `json:"holder,omitempty"` // whose run
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"` // its executable, or its name
	User    string `json:"user,omitempty"`
	Package string `json:"package,omitempty"` // that the program is of
}

// A Polled is an entry that is only checked with all others.
type Polled struct {
	Index int    `json:"i"`
	Why   string `json:"why"`
}

// MaxWatched is how many results, writers or polled entries a [Watched] has at most; more come in
// several.
const MaxWatched = 1000

func (w *Watch) validate() error {
	if w == nil {
		return nil
	}
	if w.Play < 1 || w.Settle < 0 || w.Longest < w.Settle || w.Poll < 0 {
		return errors.New("a watch out of bounds")
	}
	return nil
}

func (w *Watched) validate() error {
	if w == nil {
		return nil
	}
	if w.Play < 1 || len(w.Results) > MaxWatched || len(w.Writers) > MaxWatched || len(w.Polled) > MaxWatched {
		return fmt.Errorf("the report of a watched play is out of bounds")
	}
	return nil
}
