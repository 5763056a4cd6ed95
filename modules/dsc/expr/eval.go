package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// An Evaluator evaluates expressions, with limits for all its evaluations together.
type Evaluator struct {
	names *Names
	host  Environment // nil leaves to the host what only it knows
	text  string      // text of the expression, for columns
	vars  []binding   // variables of lambdas, the innermost last
	work  *work
	calls int // depth of nested user functions
}

// work is the work done so far by an evaluator.
type work struct{ steps, bytes int }

// Bounds of an evaluator: no document needs more, and no value that a host sends
// can make it do more.
const (
	maxSteps = 200_000
	maxBytes = 32 << 20 // total size of function results
)

type binding struct {
	name  string
	value any
	free  bool // the value is not known yet
}

// A lambda is the value of lambda().
type lambda struct {
	at     *call
	params []string
	body   node
	vars   []binding
}

// NewEvaluator returns an evaluator. Without a host, parts that only the host knows remain in the results.
func NewEvaluator(names *Names, host Environment) *Evaluator {
	return &Evaluator{names: names, host: host, work: &work{}}
}

// With returns the evaluator for other names, with the same bounds.
func (e *Evaluator) With(names *Names) *Evaluator {
	inner := *e
	inner.names, inner.vars = names, nil
	return &inner
}

// Eval evaluates an expression, with its brackets. The error is an [*Error], a [*Placed], or the error of ctx.
func (e *Evaluator) Eval(ctx context.Context, text string) (Result, error) {
	root, err := parse(text)
	if err != nil {
		return Result{}, err
	}
	inner := *e
	inner.text = text
	return inner.eval(ctx, root)
}

func (e *Evaluator) errorAt(n node, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		if own.Column > 0 || e.text == "" {
			return err
		}
		return &Error{Column: columnOf(e.text, n.column()), Msg: own.Msg, Hint: own.Hint, Err: own.Err}
	}
	if _, ok := errors.AsType[*Placed](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	out := &Error{Msg: err.Error(), Err: err}
	if h, ok := errors.AsType[*hinted](err); ok {
		out.Hint = h.hint
	}
	if e.text != "" {
		out.Column = columnOf(e.text, n.column())
	}
	return out
}

// hinted is an error with a suggestion.
type hinted struct{ msg, hint string }

func (e *hinted) Error() string { return e.msg }

func withHint(hint, format string, args ...any) error {
	return &hinted{fmt.Sprintf(format, args...), hint}
}

func (e *Evaluator) eval(ctx context.Context, n node) (Result, error) {
	if e.work.steps++; e.work.steps > maxSteps {
		return Result{}, e.errorAt(n, fmt.Errorf("the expressions take more than %d steps", maxSteps))
	}
	if e.work.steps%1024 == 0 && ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	switch n := n.(type) {
	case *literal:
		return Result{value: n.value}, nil
	case *member:
		return e.member(ctx, n)
	case *index:
		return e.index(ctx, n)
	case *call:
		p, err := e.call(ctx, n)
		if err != nil {
			return Result{}, e.errorAt(n, err)
		}
		return p, nil
	}
	return Result{}, e.errorAt(n, errors.New("an expression of no kind"))
}

func (e *Evaluator) member(ctx context.Context, n *member) (Result, error) {
	of, err := e.eval(ctx, n.of)
	switch {
	case err != nil:
		return Result{}, err
	case of.residual != nil:
		return e.bounded(&member{at: n.at, of: of.residual, name: n.name, residualSize: sizeAround(of.residual)})
	}
	v, err := memberOf(of.value, n.name, isReference(n.of))
	if err != nil {
		return Result{}, e.errorAt(n, err)
	}
	return Result{value: v}, nil
}

func isReference(n node) bool {
	c, ok := n.(*call)
	return ok && strings.EqualFold(c.name, "reference")
}

// memberOf takes a member of an object. A reference is the state itself; documents
// of the first releases of DSC took that from members of it.
func memberOf(v any, name string, ofState bool) (any, error) {
	switch v := v.(type) {
	case Secure:
		if _, isText := v.Reveal().(string); isText && name == secureString || name == secureObject {
			return v, nil
		}
		inner, err := memberOf(v.Reveal(), name, false)
		if err != nil {
			return nil, errors.New("the secure value has no such member")
		}
		return NewSecure(inner), nil
	case map[string]any:
		if inner, ok := v[name]; ok {
			return inner, nil
		}
		if ofState && (name == "actualState" || name == "afterState") {
			return v, nil
		}
		return nil, withHint(suggestion(name, keys(v)), "the object has no member %q", name)
	}
	return nil, fmt.Errorf("%s has no member %q", Kind(v), name)
}

func (e *Evaluator) index(ctx context.Context, n *index) (Result, error) {
	of, err := e.eval(ctx, n.of)
	if err != nil {
		return Result{}, err
	}
	by, err := e.eval(ctx, n.by)
	if err != nil {
		return Result{}, err
	}
	if of.residual != nil || by.residual != nil {
		left, err := e.toNodes(ctx, of, by)
		if err != nil {
			return Result{}, err
		}
		return e.bounded(&index{at: n.at, of: left[0], by: left[1], residualSize: sizeAround(left...)})
	}
	v, err := elementOf(of.value, by.value)
	if err != nil {
		return Result{}, e.errorAt(n, err)
	}
	return Result{value: v}, nil
}

func elementOf(v, by any) (any, error) {
	if s, ok := v.(Secure); ok {
		inner, err := elementOf(s.Reveal(), Revealed(by))
		if err != nil {
			return nil, errors.New("the secure value has no such element")
		}
		return NewSecure(inner), nil
	}
	if s, ok := by.(Secure); ok {
		inner, err := elementOf(v, s.Reveal())
		if err != nil {
			return nil, errors.New("the value has no such element")
		}
		return NewSecure(inner), nil
	}
	switch by := by.(type) {
	case string:
		return memberOf(v, by, false)
	case int64:
		list, ok := v.([]any)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s has no element %d", Kind(v), by)
		case by < 0 || by >= int64(len(list)):
			return nil, fmt.Errorf("the index %d is outside an array of %d", by, len(list))
		}
		return list[by], nil
	}
	return nil, fmt.Errorf("an index is an integer or a string, not %s", Kind(by))
}
