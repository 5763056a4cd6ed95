package engine

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A block is a scope of three parts. The first job that goes wrong in a part ends that part. The
// rescue runs if main has ended so, and always in any case.
type block struct {
	main, rescue, always *scope
	sizes                wire.Block
	begun                bool // one of its entries has had its turn
}

// newBlock returns the parts of a block, or nil.
func newBlock(sizes *wire.Block) *block {
	if sizes == nil {
		return nil
	}
	b := &block{main: &scope{failOnError: true}, rescue: &scope{failOnError: true}, always: &scope{failOnError: true}, sizes: *sizes}
	b.rescue.after = b.main
	return b
}

// part returns the scope of a member. behind is the number of later entries of the scope s.
func (s *scope) part(behind int, member *job) *scope {
	b := s.block
	if b == nil {
		return s
	}
	b.main.outer, b.rescue.outer, b.always.outer = s, s, s
	switch {
	case behind < b.sizes.Always:
		return b.always
	case behind >= b.sizes.Always+b.sizes.Rescue:
		return b.main
	}
	// A member that control excludes does not count as a rescue.
	b.main.rescued = b.main.rescued || !member.entry.Excluded && !member.entry.Hidden
	return b.rescue
}

// all returns the members of a scope, including all parts of a block.
func (s *scope) all() []*job {
	if b := s.block; b != nil {
		return slices.Concat(b.main.members, b.rescue.members, b.always.members)
	}
	return s.members
}

// begin notes that an entry in the scope has its turn.
func (s *scope) begin() {
	for ; s != nil; s = s.outer {
		if s.block != nil {
			s.block.begun = true
		}
	}
}

// hasBegun reports whether the scope is a block that has begun.
func (s *scope) hasBegun() bool { return s != nil && s.block != nil && s.block.begun }

// isPart reports whether the scope is a part of a block.
func (s *scope) isPart() bool { return s.outer != nil && s.outer.block != nil }

// isRescued reports whether a rescue waits for failures in the scope.
func (s *scope) isRescued() bool {
	for ; s != nil; s = s.outer {
		if s.rescued {
			return true
		}
	}
	return false
}

// idle reports whether the scope belongs to a rescue for which there is no reason.
func (s *scope) idle() bool {
	for ; s != nil; s = s.outer {
		if s.after != nil && s.after.endedBy == "" {
			return true
		}
	}
	return false
}

// mayAwake is the doubt that the rescue does not start.
func (s *scope) mayAwake() (doubt forecast.Doubt) {
	for ; s != nil; s = s.outer {
		if s.after != nil && s.after.endedBy == "" {
			if !s.after.doubtful.Any() {
				return forecast.Doubt{} // whatever becomes of the others
			}
			doubt = doubt.Or(s.after.doubtful)
		}
	}
	return doubt
}

// leaveRescue is the result of a job of a rescue that is not needed.
func (r *run) leaveRescue(j *job) {
	j.result.skip(wire.SkippedRescue, "only if its block fails", "")
	because := j.scope.mayAwake()
	if !j.predicts() || !because.Any() {
		return
	}
	j.result.doubt(because)
	j.doubt = because
	// Its plan is unknown: it would see the host after the failure of its block.
	j.prediction = &forecast.Prediction{Because: because}
	r.forecasts.record(j, because.Ref, modules.Plan{Effects: j.mayChange()})
}

// verdict is why the block has failed; nil if it has not.
func (b *block) verdict() error {
	main, rescue, always := b.main.endedHow, b.rescue.endedHow, b.always.endedHow
	switch {
	case rescue != "":
		return modules.Refuse("%s; then, in its rescue, %s", main, rescue)
	case main != "" && !b.main.rescued:
		return modules.Refuse("%s", main)
	case always != "":
		return modules.Refuse("in always, %s", always)
	}
	return nil
}
