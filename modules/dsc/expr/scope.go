package expr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// A Scope is what travels with properties that hold expressions: what these need of
// the document. In properties with a scope, strings are read as in a document; in
// those without one, every string is a value.
type Scope struct {
	// Condition is an expression; the resource is managed when it is true. "" is true.
	Condition string `json:"condition,omitempty"`
	// Values are what the expressions call parameters('0'), parameters('1') and so on,
	// in the form of encoding/json; see [Wrapped].
	Values []any `json:"values,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]: integers stay exact.
func (s *Scope) UnmarshalJSON(b []byte) error {
	type plain Scope
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode((*plain)(s))
}

// Evaluate gives, on the host, the properties with all expressions evaluated, in the
// form of encoding/json, and whether the condition holds; if not, there are no
// properties. Errors name the property.
func (s *Scope) Evaluate(ctx context.Context, env Environment, properties map[string]any) (values map[string]any, holds bool, err error) {
	e := NewEvaluator(&Names{Parameter: s.parameters()}, env)
	if s.Condition != "" {
		if holds, err = e.condition(ctx, s.Condition); err != nil || !holds {
			return nil, false, err
		}
	}
	values = make(map[string]any, len(properties))
	for _, key := range keys(properties) {
		v, err := Fold(properties[key], func(text string) (Part, error) { return e.EvalText(ctx, text) })
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", key, err)
		}
		values[key] = Wrapped(v)
	}
	return values, true, nil
}

// parameters gives the values, each made ready once.
func (s *Scope) parameters() func(name string) (Part, error) {
	parts := make([]Part, len(s.Values))
	for i, v := range s.Values {
		parts[i] = Known(v)
	}
	return func(name string) (Part, error) {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(parts) {
			return Part{}, fmt.Errorf("there is no parameter %q", name)
		}
		return parts[i], nil
	}
}

// EvalText evaluates the text of an expression; see [Evaluator.Eval].
func (e *Evaluator) EvalText(ctx context.Context, text string) (Part, error) {
	x, err := Parse(text)
	if err != nil {
		return Part{}, err
	}
	return e.Eval(ctx, x)
}

func (e *Evaluator) condition(ctx context.Context, text string) (bool, error) {
	p, err := e.EvalText(ctx, text)
	if err != nil {
		return false, fmt.Errorf("condition: %w", err)
	}
	return p.Bool("condition")
}

// Condition evaluates an expression that must give a boolean, such as that of a
// resource's manifest, with no document around it. text is in brackets.
func Condition(ctx context.Context, text string, env Environment) (bool, error) {
	return NewEvaluator(&Names{}, env).condition(ctx, text)
}
