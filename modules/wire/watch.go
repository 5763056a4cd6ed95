package wire

import (
	"errors"
	"fmt"
	"time"
)

// A Watch keeps a checked catalog on the host: until another catalog of the same play comes, or the session ends, the
// host reports changes of its entries with [Watched]. Such a catalog is a check with [Catalog].Rehearsal, takes no
// lock, and needs the full host program.
type Watch struct {
	Play int `json:"play"` // its number, from 1
	// Settle is the time without a hint after which an entry is checked, and Longest the longest delay of a check.
	Settle  time.Duration `json:"settle"`
	Longest time.Duration `json:"longest"`
	// Poll is in what time every entry is checked once, whether or not something was heard of
	// it; 0 is never.
	Poll time.Duration `json:"poll,omitempty"`
	// Quiet are absolute paths on the host: while one of them exists, nothing is reported.
	Quiet []string `json:"quiet,omitempty"`
}

// An EntryWatch has the differences of one entry from a [Watch].
type EntryWatch struct {
	Off    bool           `json:"off,omitempty"` // checked only for entries that depend on it, and not reported
	Settle time.Duration  `json:"settle,omitempty"`
	Poll   *time.Duration `json:"poll,omitempty"`
}

// Watched reports the results of a watched catalog that differ from the last reported ones.
type Watched struct {
	Play    int       `json:"play"` // [Watch].Play
	Results []*Result `json:"results,omitempty"`
	Writers []Writer  `json:"writers,omitempty"` // writers of those results, as far as they are known
	// Polled lists all entries that cannot be heard, sent when that is known and when it changes. Heard marks the first
	// message of a list; Polled in later messages without Heard continues the list.
	Polled []Polled `json:"polled,omitempty"`
	Heard  bool     `json:"heard,omitempty"`
	// Missed is the reason if all entries were checked without a hint, because the event queue overflowed or the host
	// was suspended; "" for other reasons.
	Missed string `json:"missed,omitempty"`
}

// A Writer is the program or run that has changed the thing of an entry, as far as the host knows it. It is a hint for
// people.
type Writer struct {
	Index   int    `json:"i"`
	Run     string `json:"run,omitempty"`    // run of this tool: in progress, or recorded as the last one there
	Holder  string `json:"holder,omitempty"` // whose run
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"` // its executable, or its name
	User    string `json:"user,omitempty"`
	Package string `json:"package,omitempty"` // package of the program
}

// A Polled is an entry that is only checked with all others.
type Polled struct {
	Index int    `json:"i"`
	Why   string `json:"why"`
}

// MaxWatched bounds the results, writers or polled entries of a [Watched]; more come in several messages.
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
