package notes

import (
	"encoding/json"
	"slices"
	"strings"
)

// Limits of the commands that are kept because they must not start again if their run is resumed after other runs.
const (
	maxCommands  = 256 << 10 // bytes of all lines
	maxForgotten = 1000      // plays
)

// A forgotten names a play whose commands have been forgotten, since there were too many of later runs.
type forgotten struct {
	Run  string `json:"run"` // the first one of its resumes
	Play int    `json:"play"`
	For  string `json:"for,omitempty"` // other host, whose resources ran here
}

// playOf names the play of the catalog. A resource that runs for another host may have another number there in a resume.
func (h *resultsHeader) playOf() forgotten {
	of := forgotten{h.origin(), h.Play, h.For}
	if i := strings.LastIndexByte(h.For, ' '); i >= 0 {
		of.For = h.For[:i]
	}
	return of
}

func (r *Results) hasForgotten(h *resultsHeader) bool {
	return slices.Contains(r.lost, h.playOf())
}

// reduce forgets all of some catalogs except commands that must not start again. They are kept for resumes as long as
// there is room: the oldest are forgotten first.
func (r *Results) reduce(which func(*keptCatalog) bool) error {
	if r.log == nil {
		return nil
	}
	var kept []*keptCatalog
	changed, size := false, 0
	for _, c := range slices.Backward(r.catalogs) {
		if which(c) {
			changed = c.reduce() || changed
			if len(c.finished)+len(c.attempts) == 0 {
				changed = true
				continue
			}
			n, err := c.size()
			if err != nil {
				return err
			}
			if size += n; size > maxCommands {
				changed = true
				r.forgetCommands(&c.header)
				continue
			}
		}
		kept = append(kept, c)
	}
	if !changed {
		return nil
	}
	slices.Reverse(kept)
	r.catalogs = kept
	return r.rewrite()
}

// forgetCommands notes that commands of a play have been forgotten.
func (r *Results) forgetCommands(h *resultsHeader) {
	if r.hasForgotten(h) {
		return
	}
	r.lost = append(r.lost, h.playOf())
	r.lost = slices.Clone(r.lost[max(0, len(r.lost)-maxForgotten):])
}

// reduce forgets all except the commands that must not start again. It reports whether anything was forgotten.
func (c *keptCatalog) reduce() (changed bool) {
	n := len(c.finished) + len(c.attempts)
	c.finished = slices.DeleteFunc(c.finished, func(f *Finished) bool { return !f.MustStay() })
	c.attempts = slices.DeleteFunc(c.attempts, func(a *Attempt) bool { return !a.Running || a.Repeatable })
	changed = c.ended || len(c.finished)+len(c.attempts) < n
	c.ended = false
	for _, f := range c.finished {
		changed = f.shorten() || changed
		if f.Register || f.Sent != nil {
			f.Register, f.Sent, changed = false, nil, true
		}
	}
	return changed
}

// size returns how many bytes the lines of the catalog have.
func (c *keptCatalog) size() (n int, err error) {
	for _, l := range c.lines() {
		line, err := json.Marshal(l)
		if err != nil {
			return 0, err
		}
		n += len(line) + 1
	}
	return n, nil
}
