package templates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxOutput bounds one rendered text, in bytes.
	MaxOutput = 16 << 20
	// maxDepth is how deep templates may render each other.
	maxDepth = 20
	// maxSteps bounds loop rounds and calls of one evaluation, so that it ends
	// even without a deadline.
	maxSteps = 20_000_000
	// stepsPerCheck is how often the deadline is looked at.
	stepsPerCheck = 256
)

// A run is one evaluation. The engines take no context, so it travels in here,
// for the time of the call.
type run struct {
	ctx   context.Context // nil for an annotation, which only its steps bound
	env   *Env
	steps int
	chain []string // the templates being rendered, outermost first
	dead  error    // what ended the run; templates cannot catch it

	marked *Marked // of a document, to keep the values that are printed

	scaffold *rendering // to which write() adds; nil for any other template
	dot      any        // what render() gives a part of a scaffold as its context
}

func newRun(ctx context.Context, env *Env) (*run, error) {
	r := &run{ctx: ctx, env: env}
	return r, r.alive()
}

// step counts one round of a loop or one call. An error ends the run.
func (r *run) step() error {
	if r == nil {
		return nil
	}
	r.steps++
	if r.steps%stepsPerCheck != 0 && r.dead == nil {
		return nil
	}
	return r.alive()
}

func (r *run) alive() error {
	switch {
	case r.dead != nil:
	case r.ctx != nil && r.ctx.Err() != nil:
		cause := context.Cause(r.ctx)
		r.dead = &fault{msg: fmt.Sprintf("rendering did not end in time: %v", cause), err: cause}
	case r.steps > maxSteps:
		r.dead = faultf("rendering did not end within %d steps", maxSteps).withHint("look for a loop that does not end")
	}
	return r.dead
}

// final is err, or what ended the run if err does not tell: a template may have
// caught it.
func (r *run) final(err error) error {
	if r.dead != nil && !errors.Is(err, r.dead) {
		return r.dead
	}
	return err
}

// fits is nil if a text of n bytes is not too long.
func (r *run) fits(n int) error {
	if n > MaxOutput && r.dead == nil {
		r.dead = faultf("the text grows beyond %d MiB", MaxOutput>>20)
	}
	return r.dead
}

// enter begins a template and returns what ends it.
func (r *run) enter(name string) (leave func(), err error) {
	if len(r.chain) >= maxDepth {
		chain := strings.Join(append(slices.Clone(r.chain[max(0, len(r.chain)-3):]), name), " → ")
		r.dead = faultf("templates render each other more than %d levels deep: … %s", maxDepth, chain)
		return nil, r.dead
	}
	r.chain = append(r.chain, name)
	depth := len(r.chain) - 1
	return func() { r.chain = r.chain[:depth] }, nil
}
