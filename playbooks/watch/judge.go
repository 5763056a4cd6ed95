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

// Status is the result of a check.
type Status string

// Results of a check. A skipped resource, or one that depends on a failed one, counts as Stable.
const (
	Stable  Status = "stable"
	Changed Status = "changed" // it would be
	Failed  Status = "failed"  // it could not be found out
)

// Cause is why a resource is not in the desired state, as far as the host knows.
type Cause string

// The causes.
const (
	Drift Cause = "drift" // changed since it was left in the desired state
	Run   Cause = "run"   // a run has left it otherwise
	Wish  Cause = "wish"  // it was never left in the desired state, or never is: a command that always runs
	Other Cause = ""      // a resource that it depends on
)

// A Verdict is a host's report about a resource.
type Verdict struct {
	Status    Status
	Cause     Cause
	Uncertain bool
	Message   string // action that a repair would take
	Changes   []Change
	Error     string
	Writer    *Writer // writer of the change; nil if not known
}

// A Change is of one property.
type Change struct{ Property, From, To string }

// A Writer identifies the run or program that has changed a resource, as the host knows it.
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

// A Kind is the kind of a report.
type Kind string

// The kinds of outcomes.
const (
	Drifted   Kind = "drifted"   // it has drifted
	Settled   Kind = "settled"   // back in the desired state, not by a repair
	Repaired  Kind = "repaired"  // it was repaired
	Unmended  Kind = "unmended"  // a repair did not help
	Fighting  Kind = "fighting"  // something else keeps changing it
	Exhausted Kind = "exhausted" // its repairs are used up for now
	Waiting   Kind = "waiting"   // its repair waits until fewer hosts have been repaired lately
)

// An Outcome is a report about a resource.
type Outcome struct {
	Kind    Kind
	Key     Key
	Verdict Verdict
	Since   time.Time     // start of the drift
	Values  [2]string     // in a fight: the action of each repair, and the value found before
	Times   int           // number of drifts, or of repairs, within Within
	Within  time.Duration //
	Next    time.Time     // when it is tried again; zero if it is not
	Error   string        // error of a repair
	Mode    Mode
	// Using and Limit are for a Waiting outcome: the hosts that use the budget of the fleet, and the budget.
	Using []string
	Limit int
}

// A Judge keeps the state of the resources of a watch. It is not safe for concurrent use.
type Judge struct {
	hosts  int
	items  map[Key]*item
	mended map[string]time.Time // hosts, and when a repair of theirs began last
	lost   map[string]bool      // hosts that are not watched for now
}

// NewJudge returns the judge for a number of hosts.
func NewJudge(hosts int) *Judge {
	return &Judge{hosts: hosts, items: map[Key]*item{}, mended: map[string]time.Time{}, lost: map[string]bool{}}
}

// Lost records that a host is not watched for now, so that it is not repaired. Found records that it is watched again.
func (j *Judge) Lost(host string) { j.lost[host] = true }

// Found is the contrary of Lost.
func (j *Judge) Found(host string) { delete(j.lost, host) }

// An item is the state of a resource that is, or was, not in the desired state.
type item struct {
	rules   *Rules
	verdict Verdict
	since   time.Time // start of the drift
	seen    []sight   // its values, the newest last
	repairs []time.Time
	failed  int       // repairs in a row that did not help
	next    time.Time // no repair before
	busy    bool      // being mended
	tried   bool      // a repair has ended, and the host has not reported its effect yet
	error   string    // error of that repair
	fights  bool
	unknown bool // a repair has ended, and what its command has done is not known
	spent   bool // it was reported that its budget is used up
	waits   bool // it was reported that its repair waits
	loose   bool // never in the desired state, so it cannot drift
}

// astray reports whether it counts as drifted.
func (i *item) astray() bool { return i.verdict.Status != Stable && !i.loose }

// Told handles a host's report about a resource, and returns the outcomes to report. first is set if the watch of the
// host has just begun: it distinguishes resources that were never in the desired state from drifted resources.
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

// was reports whether a verdict had been reported.
func (i *item) was(v Verdict) bool { return !i.loose || v.Cause != Wish }

// mendedBy returns the outcome of a repair, now that the host has reported the state.
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

// Astray returns the drifted resources, in order, and the drifted resources with a fight.
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
