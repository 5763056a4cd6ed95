package expr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// call evaluates a call.
func (e *Evaluator) call(ctx context.Context, n *call) (Result, error) {
	if strings.Contains(n.name, ".") {
		return e.callUser(ctx, n)
	}
	name := strings.ToLower(n.name)
	f := functions[name]
	if f == nil {
		return Result{}, withHint(suggestion(n.name, functionNames()), "unknown function %q", n.name)
	}
	if err := f.checkCount(len(n.args)); err != nil {
		return Result{}, err
	}
	if f.special != nil {
		return f.special(ctx, e, n)
	}
	args, err := e.args(ctx, n)
	if err != nil {
		return Result{}, err
	}
	if f.names != nil {
		return e.callNames(ctx, n, f, args)
	}
	if f.host {
		return e.askHost(ctx, n, f, args)
	}
	if anyRest(args) {
		return e.residualCall(ctx, n, args)
	}
	v, err := e.apply(ctx, f, values(args))
	return Result{value: v}, err
}

// callNames calls what the document defines; an argument that only the host knows
// cannot choose it.
func (e *Evaluator) callNames(ctx context.Context, n *call, f *function, args []Result) (Result, error) {
	for i, a := range args {
		if a.residual != nil {
			return Result{}, withHint("", "the argument of %s() depends on the host", f.name)
		}
		if IsSecure(a.value) {
			return Result{}, fmt.Errorf("the argument of %s() is a secure value", f.name)
		}
		if err := f.checkKind(i, a.value); err != nil {
			return Result{}, err
		}
	}
	return f.names(e, n, values(args))
}

func (e *Evaluator) args(ctx context.Context, n *call) ([]Result, error) {
	parts := make([]Result, len(n.args))
	for i, arg := range n.args {
		var err error
		if parts[i], err = e.eval(ctx, arg); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func anyRest(args []Result) bool {
	return slices.ContainsFunc(args, func(a Result) bool { return a.residual != nil })
}

func values(parts []Result) []any {
	all := make([]any, len(parts))
	for i, p := range parts {
		all[i] = p.value
	}
	return all
}

// apply calls a function with values. The result is secure if an argument is.
func (e *Evaluator) apply(ctx context.Context, f *function, args []any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	for _, a := range args {
		e.work.steps += lengthOf(a) / elementsPerStep
	}
	tainted := false
	for i, a := range args {
		_, whole := a.(Secure)
		if f.moves && !whole || !IsSecure(a) {
			continue
		}
		if f.holds && whole {
			continue
		}
		tainted = true
		args[i] = Revealed(a)
	}
	for i, a := range args {
		if _, whole := a.(Secure); whole {
			continue
		}
		if err := f.checkKind(i, a); err != nil {
			return nil, err
		}
	}
	v, err := f.do(e, args)
	switch {
	case err != nil && tainted:
		return nil, fmt.Errorf("%s() fails; the details are withheld because a value is secure", f.name)
	case err != nil:
		return nil, fmt.Errorf("%s(): %w", f.name, err)
	}
	if err := e.made(v); err != nil {
		return nil, err
	}
	if tainted {
		return NewSecure(v), nil
	}
	return v, nil
}

// elementsPerStep is the number of list elements, or bytes of a text, that a function reads in one step.
const elementsPerStep = 256

func lengthOf(v any) int {
	switch v := v.(type) {
	case Secure:
		return lengthOf(v.Reveal())
	case string:
		return len(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// made counts the size of a function's result. Parts shared with other values count each time, since a function that
// writes them out, such as join(), makes a text of that size.
func (e *Evaluator) made(v any) error {
	if e.work.bytes += sizeOf(v, maxBytes); e.work.bytes > maxBytes {
		return fmt.Errorf("the values of the expressions grow beyond %d MiB", maxBytes>>20)
	}
	return nil
}

// askHost calls a function that only the host can answer.
func (e *Evaluator) askHost(ctx context.Context, n *call, f *function, args []Result) (Result, error) {
	for i, a := range args {
		if a.residual != nil {
			continue
		}
		if IsSecure(a.value) {
			return Result{}, fmt.Errorf("%s() cannot be used with a secure value", f.name)
		}
		if err := f.checkKind(i, a.value); err != nil {
			return Result{}, err
		}
	}
	switch {
	case e.host == nil:
		return e.leave(ctx, n, f, args)
	case anyRest(args):
		return e.residualCall(ctx, n, args)
	}
	answer, err := e.host.Ask(ctx, f.name, values(args))
	if err != nil {
		return Result{}, fmt.Errorf("%s(): %w", f.name, err)
	}
	return Result{value: Normal(answer)}, nil
}

// leave leaves a call to the host, which knows resources by other names.
func (e *Evaluator) leave(ctx context.Context, n *call, f *function, args []Result) (Result, error) {
	args = append([]Result(nil), args...)
	switch f.name {
	case "reference", "stateChanged":
		if args[0].residual != nil {
			return Result{}, fmt.Errorf("which resource %s() is about depends on the host", f.name)
		}
		if e.names.Resource == nil {
			return Result{}, fmt.Errorf("%s() cannot be used here", f.name)
		}
		ref, err := e.names.Resource(args[0].value.(string))
		if err != nil {
			return Result{}, err
		}
		args[0].value = ref
	case "restartRequired":
		if e.names.Earlier == nil {
			return Result{}, errors.New("restartRequired() cannot be used here")
		}
		if len(args) == 1 {
			args = append(args, Result{value: ""})
		}
		for _, ref := range e.names.Earlier() {
			args = append(args, Result{value: ref})
		}
	}
	return e.residualCall(ctx, n, args)
}

// maxCalls is the depth to which calls of user functions may be nested in arguments and values.
const maxCalls = 16

// callUser calls a function that the document defines.
func (e *Evaluator) callUser(ctx context.Context, n *call) (Result, error) {
	if e.names.Function == nil {
		return Result{}, withHint("a function that a document defines sees its own parameters alone", "%s() cannot be called here", n.name)
	}
	f, err := e.names.Function(n.name)
	if err != nil {
		return Result{}, err
	}
	if len(n.args) != len(f.Parameters) {
		return Result{}, fmt.Errorf("%s() takes %s, not %d", f.Name, plural(len(f.Parameters), "argument"), len(n.args))
	}
	if e.calls >= maxCalls {
		return Result{}, fmt.Errorf("functions are called more than %d levels deep", maxCalls)
	}
	args, err := e.args(ctx, n)
	if err != nil {
		return Result{}, err
	}
	for i := range args {
		if f.Argument == nil {
			break
		}
		if args[i], err = f.Argument(i, args[i]); err != nil {
			return Result{}, err
		}
	}
	inner := e.With(&Names{Parameter: func(name string) (Result, error) {
		for i, known := range f.Parameters {
			if strings.EqualFold(known, name) {
				return args[i], nil
			}
		}
		return Result{}, withHint(suggestion(name, f.Parameters), "%s() has no parameter %q", f.Name, name)
	}})
	inner.calls++
	return f.Value(ctx, inner)
}
