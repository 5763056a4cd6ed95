package outcomes

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A Lie makes an outcome untrue, which [Check] must notice.
type Lie struct {
	Name string
	tell func(*Outcome) bool // reports whether the outcome had what it is about
}

// Lies are the ways in which reports, and hosts, can be wrong.
var Lies = []Lie{
	{"a command that succeeded has no result", func(o *Outcome) bool {
		return o.anEvent(func(e *Event, b Began) bool { return e.Status == "changed" && b.Status == 0 }, func(e *Event) { e.Event = "forgotten" })
	}},
	{"a command that succeeded is reported as stable", func(o *Outcome) bool {
		return o.anEvent(func(e *Event, b Began) bool { return e.Status == "changed" && b.Status == 0 }, func(e *Event) { e.Status = "stable" })
	}},
	{"a command that succeeded is reported as failed", func(o *Outcome) bool {
		return o.anEvent(func(e *Event, b Began) bool { return e.Status == "changed" && b.Status == 0 }, func(e *Event) { e.Status, e.Error = "failed", "exited with status 1" })
	}},
	{"a command that failed is reported as changed", func(o *Outcome) bool {
		return o.anEvent(func(e *Event, b Began) bool { return e.failed() && b.Status != 0 && !b.cut() }, func(e *Event) { e.Status = "changed" })
	}},
	{"a command that failed has no result", func(o *Outcome) bool {
		return o.anEvent(func(e *Event, b Began) bool { return e.failed() && b.Status != 0 && !b.cut() }, func(e *Event) { e.Event = "forgotten" })
	}},
	{"a command is reported as changed and did not run", func(o *Outcome) bool {
		n := slices.IndexFunc(o.Truth.Began, newChecker(o).reportedAsChanged)
		if n >= 0 {
			o.Truth.Began = slices.Delete(o.Truth.Began, n, n+1)
		}
		return n >= 0
	}},
	{"a command was cut and is reported as changed", func(o *Outcome) bool {
		n := slices.IndexFunc(o.Truth.Began, newChecker(o).reportedAsChanged)
		if n >= 0 {
			o.Truth.Began[n].End = time.Time{}
		}
		return n >= 0
	}},
	{"a command without a guard ran twice, and both are reported", func(o *Outcome) bool {
		k := newChecker(o)
		for _, b := range o.Truth.Began {
			r := k.byName[b.Name]
			if r.guarded() || b.Status != 0 || b.cut() || r.Once || b.Call != 0 || k.forgetful(r, b.For) {
				continue
			}
			for n := range o.Called {
				for i := range o.Called[n].Runs {
					run := &o.Called[n].Runs[i]
					for _, e := range run.Events {
						if e.Event == "result" && e.Name == b.Name && e.Host == b.For && e.Status == "changed" {
							run.Events = append(run.Events, e)
							b.Begin, b.End = b.End.Add(time.Nanosecond), b.End.Add(2*time.Nanosecond)
							o.Truth.Began = sorted(append(o.Truth.Began, b), nil)
							return true
						}
					}
				}
			}
		}
		return false
	}},
	{"a command ran on another host", func(o *Outcome) bool {
		if len(o.Truth.Began) == 0 || len(o.Case.Hosts) == 1 {
			return false
		}
		b := &o.Truth.Began[0]
		b.At = o.Case.Hosts[(slices.Index(o.Case.Hosts, b.At)+1)%len(o.Case.Hosts)]
		return newChecker(o).byName[b.Name].Each == 0
	}},
	{"two commands were in one slot", func(o *Outcome) bool {
		k := newChecker(o)
		for n, a := range o.Truth.Began {
			for _, b := range o.Truth.Began[n+1:] {
				if r := k.byName[a.Name]; r.Sema == "db" && k.byName[b.Name].Sema == "db" && !a.cut() {
					o.Truth.Began[n].End = b.Begin.Add(time.Nanosecond)
					return true
				}
			}
		}
		return false
	}},
	{"a command ran before its requirement", func(o *Outcome) bool {
		k := newChecker(o)
		for n, b := range o.Truth.Began {
			for _, name := range k.byName[b.Name].Require {
				if q := k.byName[name]; q.Kind == Exec && !q.RefreshOnly {
					o.Truth.Began[n].Begin = o.Truth.Began[0].Begin
					return true
				}
			}
		}
		return false
	}},
	{"the exit status reports success", func(o *Outcome) bool {
		n := slices.IndexFunc(o.Called, func(c Called) bool { return c.Status > 1 && c.Status < 128 })
		if n >= 0 {
			o.Called[n].Status = 0
		}
		return n >= 0
	}},
	{"the exit status reports failure", func(o *Outcome) bool {
		n := slices.IndexFunc(o.Called, func(c Called) bool { return c.Status == 0 && len(c.Runs) > 0 })
		if n >= 0 {
			o.Called[n].Status = 2
		}
		return n >= 0
	}},
	{"the record lacks a printed line", func(o *Outcome) bool {
		n := slices.IndexFunc(o.Called, func(c Called) bool {
			return c.Status >= 0 && c.Status != 130 && len(c.Runs) == 1 && len(resultLines(c.Printed)) > 0
		})
		if n >= 0 {
			o.Called[n].Printed = nil
		}
		return n >= 0
	}},
	{"a file that was reported as done is not there", func(o *Outcome) bool {
		k := newChecker(o)
		for _, e := range k.reports {
			if r := k.byTitle[e.Name]; r.Kind == File && (e.Status == "changed" || e.Status == "stable") && o.Truth.After != nil {
				delete(o.Truth.After[e.Host], r.Path())
				return true
			}
		}
		return false
	}},
	{"an undo left a file and did not name it", func(o *Outcome) bool {
		last := -1
		for n, c := range o.Called {
			if c.Do == "undo" && len(c.Runs) > 0 {
				last = n
			}
		}
		if last < 0 || o.Called[last].Status != 0 {
			return false
		}
		o.Truth.Undone[o.Case.Hosts[0]][Tree+"/left"] = "-rw-r--r-- 0:0"
		return true
	}},
	{"a call did not end", func(o *Outcome) bool { o.Called[0].TimedOut = true; return true }},
}

// reportedAsChanged reports whether an execution succeeded, and each success of the command has a report that says so.
func (k *checker) reportedAsChanged(b Began) bool {
	if b.Status != 0 || b.cut() || k.inUndo(b) || k.forgetful(k.byName[b.Name], b.For) {
		return false
	}
	ok, changed := 0, 0
	for _, other := range k.began(b.Name, b.For) {
		if other.Status == 0 && !other.cut() {
			ok++
		}
	}
	for _, e := range k.reported(b.Name, b.For) {
		if e.Status == "changed" {
			changed++
		}
	}
	return changed == ok
}

// anEvent changes the first result of a command that ran exactly once and is right. It reports whether there was one.
func (o *Outcome) anEvent(right func(*Event, Began) bool, change func(*Event)) bool {
	k := newChecker(o)
	for n := range o.Called {
		for i := range o.Called[n].Runs {
			run := &o.Called[n].Runs[i]
			for j := range run.Events {
				e := &run.Events[j]
				r, is := k.byTitle[e.Name]
				if !is || r.Kind != Exec || r.Once || e.Event != "result" || !k.chain[run.ID] {
					continue
				}
				if at := k.began(e.Name, e.Host); len(at) == 1 && len(k.reported(e.Name, e.Host)) == 1 && right(e, at[0]) && !k.forgetful(r, e.Host) {
					change(e)
					return true
				}
			}
		}
	}
	return false
}

// Unnoticed tells each lie about an outcome that breaks no rule. It returns the lies that [Check] did not notice, and
// how many were told.
func Unnoticed(o *Outcome) (missed []string, told int) {
	text, err := json.Marshal(o)
	if err != nil {
		return []string{err.Error()}, 0
	}
	for _, lie := range Lies {
		var lied Outcome
		if err := json.Unmarshal(text, &lied); err != nil {
			return []string{err.Error()}, 0
		}
		if !lie.tell(&lied) {
			continue
		}
		told++
		if len(Check(&lied)) == 0 {
			missed = append(missed, fmt.Sprintf("%s: %s", lie.Name, list(lied.Truth.Began)))
		}
	}
	return missed, told
}
