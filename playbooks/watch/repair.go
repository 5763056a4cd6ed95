package watch

import (
	"maps"
	"slices"
	"time"
)

// again is the longest interval between two checks whether something may be repaired: a window may have ended.
const again = time.Minute

// recent are the repairs that count against the budget.
func (i *item) recent(now time.Time) []time.Time {
	i.repairs = slices.DeleteFunc(i.repairs, func(t time.Time) bool { return now.Sub(t) >= i.rules.Per })
	return i.repairs
}

// mendable reports whether a resource is to be repaired, sooner or later.
func (i *item) mendable() bool {
	return i.rules.Mode == Repair && i.verdict.Status == Changed && !i.loose && !i.fights && !i.unknown && !i.busy && !i.tried &&
		i.verdict.Cause != Run && (!i.verdict.Uncertain || !i.rules.OnlyCertain)
}

// Due returns the resources that may be repaired now, in order. next is the latest time for the next check; zero if no
// resource waits for repair. told has the outcomes to report: used up budgets.
func (j *Judge) Due(now time.Time) (repairs []Key, next time.Time, told []Outcome) {
	var waiting []Key
	for k, i := range j.items {
		if i.mendable() && !j.lost[k.Host] {
			waiting = append(waiting, k)
		}
	}
	slices.SortFunc(waiting, compare)
	later := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	chosen := map[string]bool{} // hosts of repairs, those under way too
	for k, i := range j.items {
		if i.busy {
			chosen[k.Host] = true
		}
	}
	for _, k := range waiting {
		i := j.items[k]
		recent := i.recent(now)
		switch {
		case now.Before(i.next):
			later(i.next)
		case len(recent) >= i.rules.Budget:
			if !i.spent {
				i.spent = true
				told = append(told, j.outcome(Exhausted, k, i, i.verdict))
			}
			if len(recent) > 0 {
				later(recent[0].Add(i.rules.Per))
			}
		case slices.ContainsFunc(i.rules.Quiet, func(w Window) bool { return w.Holds(now) }):
			later(now.Add(again))
		case !chosen[k.Host] && !j.room(now, k.Host, i.rules, chosen):
			later(now.Add(min(again, i.rules.Per)))
			if !i.waits {
				i.waits = true
				told = append(told, j.waiting(now, k, i, chosen))
			}
		default:
			i.waits = false
			chosen[k.Host] = true
			repairs = append(repairs, k)
		}
	}
	return repairs, next, told
}

// using returns the hosts that use the budget of the fleet, and until when: those chosen now, and those repaired within Per.
func (j *Judge) using(now time.Time, r *Rules, chosen map[string]bool) map[string]time.Time {
	hosts := map[string]time.Time{}
	for h := range chosen {
		hosts[h] = now.Add(r.Per)
	}
	for h, at := range j.mended {
		if now.Sub(at) < r.Per {
			hosts[h] = at.Add(r.Per)
		}
	}
	return hosts
}

// room reports whether the budget of the fleet allows a repair of a host.
func (j *Judge) room(now time.Time, host string, r *Rules, chosen map[string]bool) bool {
	using := j.using(now, r, chosen)
	_, one := using[host]
	return one || len(using) < r.hosts(j.hosts)
}

// waiting is the outcome of a resource whose repair waits for the budget of the fleet.
func (j *Judge) waiting(now time.Time, k Key, i *item, chosen map[string]bool) Outcome {
	o := j.outcome(Waiting, k, i, i.verdict)
	o.Within, o.Limit = i.rules.Per, i.rules.hosts(j.hosts)
	using := j.using(now, i.rules, chosen)
	o.Using = slices.Sorted(maps.Keys(using))
	for _, until := range using {
		if o.Next.IsZero() || until.Before(o.Next) {
			o.Next = until
		}
	}
	return o
}

// Begun records that a repair of resources begins.
func (j *Judge) Begun(now time.Time, keys []Key) {
	for _, k := range keys {
		if i := j.items[k]; i != nil {
			i.busy, i.repairs = true, append(i.repairs, now)
		}
		j.mended[k.Host] = now
	}
}

// Ended records how a repair of a resource has ended: err is empty if it succeeded. The outcome is reported after the
// host has been checked again.
func (j *Judge) Ended(k Key, err string) {
	if i := j.items[k]; i != nil && i.busy {
		i.busy, i.tried, i.error = false, true, err
	}
}

// Unknown notes that the outcome of a repair is unknown. The resource is not repaired before [Judge.Release].
func (j *Judge) Unknown(k Key) {
	if i := j.items[k]; i != nil {
		i.unknown = true
	}
}

// Over is [Judge.Ended] for a host that does not report its state any more: it returns the outcomes to report.
func (j *Judge) Over(now time.Time, k Key, err string) []Outcome {
	i := j.items[k]
	if i == nil || !i.busy {
		return nil
	}
	j.Ended(k, err)
	if err == "" {
		return j.Told(now, k, i.rules, Verdict{Status: Stable}, false)
	}
	i.tried = false
	o := j.outcome(Unmended, k, i, i.verdict)
	o.Error = err
	return []Outcome{o}
}

// Held returns the drifted resources of a play on a host that a repair must skip.
func (j *Judge) Held(now time.Time, host string, play int) (refs []string) {
	for k, i := range j.items {
		if k.Host == host && k.Play == play && i.verdict.Status != Stable && !i.busy {
			refs = append(refs, k.Ref)
		}
	}
	slices.Sort(refs)
	return refs
}
