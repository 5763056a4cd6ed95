package engine

import (
	"cmp"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
)

// scopes are the nested manifests of a catalog, by the numbers of their entries.
// An entry that belongs to none is the play's own, below noScope.
type scopes struct {
	of       []int          // the innermost scope that an entry belongs to
	ended    map[int]string // scopes, noScope for the play, that a failure has ended, and the entry that failed
	doubtful map[int]string // by scope: its first uncertain entry, which may end it
}

const noScope = -1

// findScopes finds what belongs to which scope. A scope that begins before the
// catalog, or within another one, is an error.
func findScopes(entries []modules.Entry) (scopes, error) {
	s := scopes{of: make([]int, len(entries)), ended: map[int]string{}, doubtful: map[int]string{}}
	for i := range s.of {
		s.of[i] = noScope
	}
	for i := range entries {
		scope := entries[i].Scope
		if scope == nil {
			continue
		}
		first := i - scope.Entries
		for j := i - 1; j >= first && j >= 0; j-- {
			s.of[j] = i
			if inner := entries[j].Scope; inner != nil {
				j -= inner.Entries
			}
			if j < first {
				first = len(entries) // which nothing is
			}
		}
		if scope.Entries < 0 || first < 0 || first > i {
			return s, fmt.Errorf("%s stands for %d resources that it cannot have", entries[i].Ref(), scope.Entries)
		}
	}
	return s, nil
}

// failOnError reports whether a failure ends a scope.
func (r *run) failOnError(scope int) bool {
	if scope == noScope {
		return r.cat.FailOnError
	}
	return r.cat.Entries[scope].Scope.FailOnError
}

// endScope is told that an entry has failed, which ends the entry's own scope, if that
// is to end.
func (r *run) endScope(i int) {
	if scope := r.scopes.of[i]; r.failOnError(scope) {
		r.scopes.ended[scope] = cmp.Or(r.scopes.ended[scope], r.cat.Entries[i].Ref())
	}
}

// endedBy names the entry whose failure has ended the play or a scope that i
// belongs to; "" if none has.
func (r *run) endedBy(i int) string {
	for scope := r.scopes.of[i]; ; scope = r.scopes.of[scope] {
		if ref := r.scopes.ended[scope]; ref != "" || scope == noScope {
			return ref
		}
	}
}

// mayBeEndedBy names the first uncertain entry that, if it fails, ends a scope
// that i belongs to; "" if there is none.
func (r *run) mayBeEndedBy(i int) string {
	for scope := r.scopes.of[i]; ; scope = r.scopes.of[scope] {
		if ref := r.scopes.doubtful[scope]; ref != "" && r.failOnError(scope) {
			return ref
		}
		if scope == noScope {
			return ""
		}
	}
}

// doubted notes that the prediction of an entry is uncertain.
func (r *run) doubted(i int) {
	scope := r.scopes.of[i]
	r.scopes.doubtful[scope] = cmp.Or(r.scopes.doubtful[scope], r.blamed(i))
}

// members gives the entries that belong to a scope and to no scope within it, in
// order.
func (r *run) members(scope int) []int {
	var list []int
	for j := scope - r.cat.Entries[scope].Scope.Entries; j < scope; j++ {
		if r.scopes.of[j] == scope {
			list = append(list, j)
		}
	}
	return list
}

// sumUp is the result of an entry that stands for a nested manifest: failed if a
// resource of that has failed, changed if one has changed. What a noop resource
// would have done counts for a noop entry only.
func (r *run) sumUp(scope int, result *modules.Result, p *forecast.Prediction) error {
	failed, changed, members := 0, 0, r.members(scope)
	for _, j := range members {
		out := &r.results[j]
		if r.cat.Entries[j].Check && !r.cat.Entries[scope].Check && out.status != modules.Failed {
			if out.doubt != "" && r.graph() { // it may turn out to have failed
				p.Because = cmp.Or(p.Because, r.blamed(j))
			}
			continue
		}
		switch out.status {
		case modules.Failed:
			failed++
		case modules.Changed:
			changed++
		}
		if out.doubt != "" {
			p.Because = cmp.Or(p.Because, r.blamed(j))
		}
	}
	if failed > 0 {
		p.Because = "" // whatever becomes of the others
		return modules.Refuse("child manifest had %d failed resources", failed)
	}
	if changed > 0 {
		result.Status, result.Message = modules.Changed, fmt.Sprintf("changed %d of %d resources", changed, len(members))
		if r.checked(scope) {
			result.Message = "Would have " + result.Message
		}
	}
	return nil
}
