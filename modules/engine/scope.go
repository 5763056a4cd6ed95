package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// findScopes finds what belongs to which nested manifest. One that begins before the
// catalog, or within another one, is an error.
func (r *run) findScopes() error {
	for i, j := range r.jobs {
		of := j.entry.Scope
		if of == nil {
			continue
		}
		j.nested = &scope{outer: r.play, failOnError: of.FailOnError, block: newBlock(of.Block)}
		first := i - of.Entries
		for n := i - 1; n >= first && n >= 0; n-- {
			member := r.jobs[n]
			member.scope = j.nested.part(i-1-n, member)
			if member.nested != nil {
				member.nested.outer = member.scope
				n -= member.entry.Scope.Entries
			}
			if n < first {
				first = len(r.jobs) // which nothing is
			}
		}
		if of.Entries < 0 || first < 0 || first > i {
			return fmt.Errorf("%s stands for %d resources that it cannot have", j.entry.Ref(), of.Entries)
		}
	}
	for _, j := range r.jobs {
		j.scope.members = append(j.scope.members, j)
	}
	return nil
}

// sumUp sets the result of a job that represents a nested manifest or a block: failed if one of its jobs failed and is
// not rescued, changed if one has changed. Predicted changes of noop resources count for a noop entry only. Its cause
// is the cause of the first change.
func (t *turn) sumUp() error {
	j := t.job
	failed, changed, skipped := 0, 0, ""
	mayBeSkipped := j.prediction.Because
	doubt := func(member *job) {
		j.prediction.Because = j.prediction.Because.Or(member.blamed())
	}
	members := slices.DeleteFunc(slices.Clone(j.nested.all()), func(member *job) bool { return member.left() })
	for _, member := range members {
		switch {
		case member.leftOut: // the entry that ended the scope counts
		case member.wentWrong():
			failed++
			if member.result.Unmet && skipped == "" {
				skipped = ": " + member.wrong()
			}
		case member.status == wire.Changed && j.sees(member):
			changed++
			j.result.Cause = cmp.Or(j.result.Cause, member.result.Cause)
		}
		doubt(member)
	}
	var err error
	if b := j.nested.block; b != nil {
		err = b.verdict()
	} else if failed > 0 {
		err = modules.Refuse("child manifest had %d failed resources%s", failed, skipped)
	}
	if err != nil {
		j.prediction.Because = mayBeSkipped // whatever becomes of the others
		return err
	}
	if changed > 0 {
		j.result.Status, j.result.Message = wire.Changed, fmt.Sprintf("changed %d of %d resources", changed, len(members))
		if j.predicts() {
			j.result.Message = "Would have " + j.result.Message
		}
	}
	return nil
}
