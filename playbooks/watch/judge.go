package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Key names a resource of a play on a host.
type Key struct {
	Host string
	Play int    // from 1
	Ref  string // type#name
}

// Status is what a check found.
type Status string

// What a check finds: a resource that is skipped, or depends on another one, is as Stable.
const (
	Stable  Status = "stable"
	Changed Status = "changed" // it would be
	Failed  Status = "failed"  // it could not be found out
)

// Cause is why a resource is not as it shall be, as far as the host knows.
type Cause string

// The causes.
const (
	Drift Cause = "drift" // it was left as it shall be, and has changed since
	Run   Cause = "run"   // a run has left it otherwise
	Wish  Cause = "wish"  // it was never left as it shall be, or never is: a command that always runs
	Other Cause = ""      // what it depends on
)

// A Verdict is what a host says of a resource.
type Verdict struct {
	Status    Status
	Cause     Cause
	Uncertain bool
	Message   string // what would be done
	Changes   []Change
	Error     string
	Writer    *Writer // who has changed it; nil if that is not known
}

// A Change is of one property.
type Change struct{ Property, From, To string }

// A Writer is who has changed something, as the host knows it.
type Writer struct {
	Run, Holder            string
	PID                    int
	Program, User, Package string
}

// value is a verdict without what may be different of two that mean the same.
func (v *Verdict) value() string {
	if v.Status == Stable {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", v.Status, v.Message, v.Error)
	for _, c := range v.Changes {
		fmt.Fprintf(&b, "\x00%s\x00%s\x00%s", c.Property, c.From, c.To)
	}
	return b.String()
}

// A Kind is what is told.
type Kind string

// The kinds of outcomes.
const (
	Drifted   Kind = "drifted"   // it is not as it was left
	Settled   Kind = "settled"   // it is again, and not by a repair
	Repaired  Kind = "repaired"  // it was mended
	Unmended  Kind = "unmended"  // a repair did not help
	Fighting  Kind = "fighting"  // somebody else wants it otherwise
	Exhausted Kind = "exhausted" // it has been mended as often as it may be for now
	Waiting   Kind = "waiting"   // its repair waits until fewer hosts have been repaired lately
)

// An Outcome is what is told of a resource.
type Outcome struct {
	Kind    Kind
	Key     Key
	Verdict Verdict
	Since   time.Time     // it is otherwise
	Values  [2]string     // of a fight: what a repair would do each time, and what was found before
	Times   int           // it has been otherwise, or been mended, within Within
	Within  time.Duration //
	Next    time.Time     // when it is tried again; zero if it is not
	Error   string        // of a repair
	Mode    Mode
	// Of a Waiting outcome: the hosts that use the budget of the fleet, and how many it allows.
	Using []string
	Limit int
}

// A Judge keeps what is known of the resources of a watch. It must not be used by several
// goroutines at once.
type Judge struct {
	hosts  int
	items  map[Key]*item
	mended map[string]time.Time // hosts, and when a repair of theirs began last
	lost   map[string]bool      // hosts that are not watched for now
}

// NewJudge gives the judge of so many hosts.
func NewJudge(hosts int) *Judge {
	return &Judge{hosts: hosts, items: map[Key]*item{}, mended: map[string]time.Time{}, lost: map[string]bool{}}
}

// Lost says that a host is not watched for now: it is not mended. Found says that it is again.
func (j *Judge) Lost(host string) { j.lost[host] = true }

// Found is the contrary of Lost.
func (j *Judge) Found(host string) { delete(j.lost, host) }

// An item is what is known of a resource that is, or was, not as it shall be.
type item struct {
	rules   *Rules
	verdict Verdict
	since   time.Time // it is not as it shall be
	seen    []sight   // what it was, the newest last
	repairs []time.Time
	failed  int       // repairs in a row that did not help
	next    time.Time // no repair before
	busy    bool      // being mended
	tried   bool      // a repair has ended, and no host has said since what came of it
	error   string    // of that repair
	fights  bool
	unknown bool // a repair has ended, and what its command has done is not known
	spent   bool // it was told that its budget is
	waits   bool // it was reported that its repair waits
	loose   bool // it is never as it shall be: no drift
}

// told reports whether it is told as not being as it shall be.
func (i *item) astray() bool { return i.verdict.Status != Stable && !i.loose }

// Told takes in what a host says of a resource, and gives what there is to tell. first says that
// the host has just begun to be watched: what never is as it shall be is told by that from what
// has drifted.
func (j *Judge) Told(now time.Time, k Key, r *Rules, v Verdict, first bool) []Outcome {
	i := j.items[k]
	if v.Status == Changed && r.ignores(v.Changes) {
		v = Verdict{Status: Stable}
	}
	if i == nil {
		if v.Status == Stable || r.Mode == Off {
			return nil
		}
		i = &item{verdict: Verdict{Status: Stable}}
		j.items[k] = i
	}
	i.rules = r
	if r.Mode == Off {
		delete(j.items, k)
		return nil
	}
	before := i.verdict
	i.verdict = v
	i.loose = v.Status == Changed && v.Cause == Wish && (first && before.Status == Stable && !i.tried || i.loose)
	var all []Outcome
	if i.tried {
		all = j.mendedBy(now, k, i)
	}
	switch {
	case v.Status == Stable:
		if before.Status != Stable && len(all) == 0 && !i.fights && i.was(before) {
			all = append(all, j.outcome(Settled, k, i, before))
		}
		i.see(now, "")
		i.failed, i.next, i.spent, i.waits, i.unknown = 0, time.Time{}, false, false, false
		if i.forgettable(now) {
			delete(j.items, k)
		}
		return all
	case i.loose:
		return all
	}
	if before.Status == Stable {
		i.since = now
	}
	i.see(now, v.value())
	switch {
	case i.fights:
	case i.fought(now):
		i.fights = true
		all = append(all, j.outcome(Fighting, k, i, v))
	case before.Status == Stable || before.value() != v.value() || before.Cause != v.Cause:
		all = append(all, j.outcome(Drifted, k, i, v))
	}
	return all
}

// was reports whether a verdict had been told.
func (i *item) was(v Verdict) bool { return !i.loose || v.Cause != Wish }

// mendedBy tells what came of a repair, now that the host has said how it is.
func (j *Judge) mendedBy(now time.Time, k Key, i *item) []Outcome {
	i.tried = false
	if i.verdict.Status == Stable {
		o := j.outcome(Repaired, k, i, i.verdict)
		return []Outcome{o}
	}
	return j.unmended(now, k, i, cmp.Or(i.error, "it does not have its desired state after the repair either"))
}

func (j *Judge) unmended(now time.Time, k Key, i *item, err string) []Outcome {
	i.failed++
	i.next = now.Add(i.rules.wait(i.failed))
	o := j.outcome(Unmended, k, i, i.verdict)
	if o.Error = err; !i.unknown {
		o.Next = i.next
	}
	return []Outcome{o}
}

func (j *Judge) outcome(kind Kind, k Key, i *item, v Verdict) Outcome {
	o := Outcome{Kind: kind, Key: k, Verdict: v, Since: i.since, Mode: i.rules.Mode}
	switch kind {
	case Fighting:
		o.Values, o.Times, o.Within = i.values(), i.times(), i.rules.Per
	case Exhausted:
		o.Times, o.Within = len(i.repairs), i.rules.Per
		o.Next = i.repairs[0].Add(i.rules.Per)
	}
	return o
}

// Keep forgets all resources of a play on a host but some: the others are not in its catalog any more.
func (j *Judge) Keep(host string, play int, refs map[string]bool) {
	for k := range j.items {
		if k.Host == host && k.Play == play && !refs[k.Ref] {
			delete(j.items, k)
		}
	}
}

// Release allows repairs of a resource again that another program keeps changing, or whose last repair has an
// unknown outcome. The operator decides this.
func (j *Judge) Release(k Key) {
	if i := j.items[k]; i != nil {
		i.unknown = false
		i.fights, i.seen, i.repairs, i.failed, i.next, i.spent = false, nil, nil, 0, time.Time{}, false
	}
}

// Astray are the resources that are not as they shall be, in order, and those of them that are
// fought over.
func (j *Judge) Astray() (astray, fighting []Key) {
	for k, i := range j.items {
		if i.astray() {
			astray = append(astray, k)
			if i.fights {
				fighting = append(fighting, k)
			}
		}
	}
	slices.SortFunc(astray, compare)
	slices.SortFunc(fighting, compare)
	return astray, fighting
}

func compare(a, b Key) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), a.Play-b.Play, strings.Compare(a.Ref, b.Ref))
}
