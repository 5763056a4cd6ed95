package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

const (
	// MaxOutput bounds one rendered text, in bytes.
	MaxOutput = 16 << 20
	// maxDepth is the depth to which templates may render each other.
	maxDepth = 20
	// MaxSteps bounds loop rounds and calls of one evaluation, so that it ends
	// even without a deadline.
	MaxSteps = 20_000_000
	// stepsPerCheck is the number of steps between two checks of the deadline.
	stepsPerCheck = 256
)

// A Run is one evaluation. The engines take no context, so it travels in here,
// for the time of the call.
type Run struct {
	ctx   context.Context // nil for an annotation, which only its steps bound
	Env   *Env
	steps int
	Chain []string // the templates being rendered, outermost first
	Dead  error    // error that ended the run; templates cannot catch it

	Lenient bool // a missing key is nil: hierarchy.order

	Made *Order // order of the keys in the result of the last text; the owner of the run resets it

	Marked *Marked // set for a document, to keep the values that are printed

	target Target // destination of write(); nil for templates outside a scaffold
	Dot    any    // context that render() passes to a part of a scaffold
}

// Begin begins an evaluation, unless its time is over.
func Begin(ctx context.Context, env *Env) (*Run, error) {
	r := New(ctx, env)
	return r, r.CheckDeadline()
}

// New begins an evaluation that checks its deadline only later.
func New(ctx context.Context, env *Env) *Run { return &Run{ctx: ctx, Env: env} }

// WithoutDeadline begins an evaluation that only its steps bound.
func WithoutDeadline(env *Env) *Run { return &Run{Env: env} }

// A Target takes the files that the templates of a scaffold write.
type Target interface {
	WriteFile(name, text string) error
}

// Step counts one round of a loop or one call. An error ends the run.
func (r *Run) Step() error {
	r.steps++
	if r.steps%stepsPerCheck != 0 && r.Dead == nil {
		return nil
	}
	return r.CheckDeadline()
}

// CheckDeadline returns the error that has ended the run, or that ends it now because its deadline or [MaxSteps] is
// reached; nil if it can continue.
func (r *Run) CheckDeadline() error {
	switch {
	case r.Dead != nil:
	case r.ctx != nil && r.ctx.Err() != nil:
		cause := context.Cause(r.ctx)
		r.Dead = &diag.Fault{Msg: fmt.Sprintf("rendering did not end in time: %v", cause), Err: cause}
	case r.steps > MaxSteps:
		r.Dead = diag.Faultf("rendering did not end within %d steps", MaxSteps).WithHint("look for a loop that does not end")
	}
	return r.Dead
}

// FinalErr is err, or the error that ended the run if err is another one: a template may have
// caught it.
func (r *Run) FinalErr(err error) error {
	if r.Dead != nil && !errors.Is(err, r.Dead) {
		return r.Dead
	}
	return err
}

// CheckLength is nil if a text of n bytes is not too long.
func (r *Run) CheckLength(n int) error {
	if n > MaxOutput && r.Dead == nil {
		r.Dead = diag.Faultf("the text grows beyond %d MiB", MaxOutput>>20)
	}
	return r.Dead
}

// EnterTemplate begins a template; leave ends it.
func (r *Run) EnterTemplate(name string) (leave func(), err error) {
	if len(r.Chain) >= maxDepth {
		chain := strings.Join(append(slices.Clone(r.Chain[max(0, len(r.Chain)-3):]), name), " → ")
		r.Dead = diag.Faultf("templates render each other more than %d levels deep: … %s", maxDepth, chain)
		return nil, r.Dead
	}
	r.Chain = append(r.Chain, name)
	depth := len(r.Chain) - 1
	return func() { r.Chain = r.Chain[:depth] }, nil
}

// AddSteps counts n steps at once.
func (r *Run) AddSteps(n int) error {
	before := r.steps
	r.steps += 1 + n
	if r.Dead == nil && before/stepsPerCheck == r.steps/stepsPerCheck {
		return nil
	}
	return r.CheckDeadline()
}
