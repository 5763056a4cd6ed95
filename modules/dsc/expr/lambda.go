package expr

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// lambdaValue makes the value of lambda('x', body) and lambda('x', 'i', body).
func lambdaValue(_ context.Context, e *Evaluator, n *call) (Result, error) {
	l := &lambda{at: n, body: n.args[len(n.args)-1], vars: slices.Clip(e.vars)}
	for _, arg := range n.args[:len(n.args)-1] {
		name, ok := arg.(*literal)
		text, isText := "", false
		if ok {
			text, isText = name.value.(string)
		}
		if !isText || text == "" {
			return Result{}, withHint("write lambda('item', ...)", "the variables of a lambda are named by literal strings")
		}
		l.params = append(l.params, text)
	}
	return Result{value: l}, nil
}

// foldLambda returns a lambda as an expression in which values from the document are known.
func (e *Evaluator) foldLambda(ctx context.Context, l *lambda) (node, error) {
	inner := *e
	inner.vars = slices.Clip(l.vars)
	for _, name := range l.params {
		inner.vars = append(slices.Clip(inner.vars), binding{name: name, free: true})
	}
	body, err := inner.eval(ctx, l.body)
	if err != nil {
		return nil, err
	}
	bodies, err := inner.toNodes(ctx, body)
	if err != nil {
		return nil, err
	}
	left := &call{at: l.at.at, name: l.at.name}
	for _, name := range l.params {
		left.args = append(left.args, &literal{value: name})
	}
	left.args = append(left.args, bodies...)
	left.residualSize = sizeAround(left.args...)
	return left, nil
}

// lambdaVariable returns the value of a variable of a lambda.
func lambdaVariable(e *Evaluator, n *call, args []any) (Result, error) {
	name := args[0].(string)
	for _, b := range slices.Backward(e.vars) {
		if b.name != name {
			continue
		}
		if b.free {
			return Result{residual: &call{at: n.at, name: n.name, args: []node{&literal{value: name}}, residualSize: residualSize{size: 2, depth: 2}}}, nil
		}
		return Result{value: b.value}, nil
	}
	return Result{}, fmt.Errorf("no lambda around this has a variable %q", name)
}

// each evaluates map() and filter().
func each(ctx context.Context, e *Evaluator, n *call, keep func(list []any, item any, result any) ([]any, error)) (Result, error) {
	args, err := e.args(ctx, n)
	if err != nil {
		return Result{}, err
	}
	l, ok := args[1].value.(*lambda)
	if !ok {
		return Result{}, withHint("write lambda('item', ...)", "%s() takes a lambda, not %s", n.name, Kind(args[1].value))
	}
	if args[0].residual != nil {
		return e.residualCall(ctx, n, args)
	}
	array, secure := args[0].value, false
	if s, ok := array.(Secure); ok {
		array, secure = s.Reveal(), true
	}
	list, ok := array.([]any)
	if !ok {
		return Result{}, fmt.Errorf("%s() takes an array, not %s", n.name, Kind(array))
	}
	out := []any{}
	for i, item := range list {
		given := item
		if secure {
			given = NewSecure(item)
		}
		p, err := e.callLambda(ctx, l, given, int64(i))
		switch {
		case err != nil:
			return Result{}, err
		case p.residual != nil:
			return e.residualCall(ctx, n, args)
		}
		before := len(out)
		if out, err = keep(out, given, p.value); err != nil {
			return Result{}, err
		}
		if len(out) > before {
			if err := e.made(out[before]); err != nil {
				return Result{}, err
			}
		}
	}
	return Result{value: out}, nil
}

func (e *Evaluator) callLambda(ctx context.Context, l *lambda, item any, i int64) (Result, error) {
	inner := *e
	inner.vars = slices.Clip(l.vars)
	for k, name := range l.params {
		switch k {
		case 0:
			inner.vars = append(inner.vars, binding{name: name, value: item})
		case 1:
			inner.vars = append(inner.vars, binding{name: name, value: i})
		}
	}
	return inner.eval(ctx, l.body)
}

func mapped(list []any, _, result any) ([]any, error) {
	if IsLambda(result) {
		return nil, errors.New("map(): the lambda returns a lambda, which is not a value")
	}
	return append(list, result), nil
}

func filtered(list []any, item, result any) ([]any, error) {
	switch keep := result.(type) {
	case bool:
		if keep {
			list = append(list, item)
		}
		return list, nil
	case Secure:
		return nil, errors.New("filter(): the condition is secure, and the choice would reveal it")
	}
	return nil, fmt.Errorf("filter(): the lambda gives %s, not a boolean", Kind(result))
}
