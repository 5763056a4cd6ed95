package engine

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// Two entries of which neither depends on the other may still be about one thing, such
// as two lines of a file. They may be worked on at once up to their Checks, but what one
// has found must not be what was there before the change of the other.

// claimed gives the things that a plan is about. User and group databases are files that
// are read, changed and written as a whole. A path stands for what it leads to, too: it
// can have other names, by links.
func (r *run) claimed(plan modules.Plan) []string {
	var keys []string
	for _, e := range plan.Effects {
		switch e.Kind {
		case modules.AnyEffect, modules.BelowEffect:
		case modules.UserEffect, modules.GroupEffect:
			keys = append(keys, "accounts")
		case modules.PathEffect:
			keys = append(keys, r.forecasts.Will.Canonical(e.Key, false), r.forecasts.Will.Canonical(e.Key, true))
		default:
			keys = append(keys, string(e.Kind)+" "+e.Key)
		}
	}
	return keys
}

// clock counts the changes of a run whose entries are worked on at once.
func (r *run) clock() int {
	if r.schedule == nil {
		return 0
	}
	return r.schedule.changes
}

// claim waits until nobody is changing what a plan is about. It reports whether the plan
// can be carried out, and gives what unclaim is to be told then: not if somebody has
// changed that since the plan was begun.
func (r *run) claim(plan modules.Plan, since int) (keys []string, ok bool) {
	s := r.schedule
	if s == nil {
		return nil, true
	}
	keys = r.claimed(plan)
	for slices.ContainsFunc(keys, s.busy) {
		s.changed.Wait()
	}
	return keys, s.claim(keys, since)
}

// claimNow is claim for a plan that can as well be left alone if somebody is changing
// what it is about.
func (r *run) claimNow(plan modules.Plan, since int) (keys []string, ok bool) {
	s := r.schedule
	if s == nil {
		return nil, true
	}
	keys = r.claimed(plan)
	return keys, !slices.ContainsFunc(keys, s.busy) && s.claim(keys, since)
}

func (s *schedule) busy(key string) bool { return s.claimed[key] }

func (s *schedule) claim(keys []string, since int) bool {
	if slices.ContainsFunc(keys, func(key string) bool { return s.changedAt[key] > since }) {
		return false
	}
	for _, key := range keys {
		s.claimed[key] = true
	}
	return true
}

// unclaim ends a claim. It is told the keys, since links lead elsewhere by now, perhaps.
func (r *run) unclaim(keys []string) {
	s := r.schedule
	if s == nil {
		return
	}
	s.changes++
	for _, key := range keys {
		delete(s.claimed, key)
		s.changedAt[key] = s.changes
	}
	s.changed.Broadcast()
}
