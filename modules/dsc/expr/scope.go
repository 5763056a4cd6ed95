package expr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Scope is sent with properties that contain expressions: it has the values that these need from the document. In
// properties with a scope, strings are read as in a document; in properties without one, every string is a value.
type Scope struct {
	// Condition is an expression; the resource is managed when it is true. "" is true.
	Condition string `json:"condition,omitempty"`
	// Values are the values of parameters('0'), parameters('1') and so on in the expressions, in the form of
	// encoding/json; see [Wrapped].
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

// Evaluate returns, on the host, the properties with all expressions evaluated, in the form of encoding/json, and
// whether the condition holds; if not, there are no properties. Errors name the property.
func (s *Scope) Evaluate(ctx context.Context, env Environment, properties map[string]any) (values map[string]any, holds bool, err error) {
	e := NewEvaluator(&Names{Parameter: s.parameters()}, env)
	if s.Condition != "" {
		if holds, err = e.condition(ctx, s.Condition); err != nil || !holds {
			return nil, false, err
		}
	}
	values = make(map[string]any, len(properties))
	for _, key := range keys(properties) {
		v, err := fold(properties[key], func(text string) (Result, error) { return e.Eval(ctx, text) })
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", key, err)
		}
		values[key] = Wrapped(v)
	}
	return values, true, nil
}

// parameters returns a function that returns the values, each converted once.
func (s *Scope) parameters() func(name string) (Result, error) {
	parts := make([]Result, len(s.Values))
	for i, v := range s.Values {
		parts[i] = Known(v)
	}
	return func(name string) (Result, error) {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(parts) {
			return Result{}, fmt.Errorf("unknown parameter %q", name)
		}
		return parts[i], nil
	}
}

func (e *Evaluator) condition(ctx context.Context, text string) (bool, error) {
	p, err := e.Eval(ctx, text)
	if err != nil {
		return false, fmt.Errorf("condition: %w", err)
	}
	return p.Bool("condition")
}

// Condition evaluates an expression that must be a boolean, such as the condition in a resource's manifest, without a
// document. text is in brackets.
func Condition(ctx context.Context, text string, env Environment) (bool, error) {
	return NewEvaluator(&Names{}, env).condition(ctx, text)
}

// A Sealer writes properties for a host that evaluates what remains of them.
type Sealer struct {
	scope *Scope
	known map[string]int // the JSON of a value → its number in the scope
	size  int
	err   error
}

// NewSealer makes a sealer for the properties of one resource.
func NewSealer() *Sealer { return &Sealer{scope: &Scope{}, known: map[string]int{}} }

// Condition makes the remaining part of an expression the condition.
func (s *Sealer) Condition(p Result) {
	if p.residual != nil {
		s.scope.Condition = s.expression(p.residual)
	}
}

// Scope returns the scope to send with the properties.
func (s *Sealer) Scope() (*Scope, error) { return s.scope, s.err }

// Value returns a result, or a value in the form of this package, in the form of the properties: strings are as in a
// document.
func (s *Sealer) Value(tree any) any {
	return Mapped(tree, func(v any) (any, bool) {
		switch v := v.(type) {
		case Result:
			if v.residual == nil {
				return s.Value(v.value), true
			}
			return s.expression(v.residual), true
		case string:
			return Escape(v), true
		case Secure:
			return "[" + s.literal(v) + "]", true
		}
		return nil, false
	})
}

func (s *Sealer) expression(n node) string {
	var b strings.Builder
	b.WriteByte('[')
	s.write(&b, n)
	b.WriteByte(']')
	if s.size += b.Len(); s.size > maxText && s.err == nil {
		s.err = fmt.Errorf("the expressions that the host evaluates are longer than %d KiB", maxText>>10)
	}
	return b.String()
}

func (s *Sealer) write(b *strings.Builder, n node) {
	if b.Len() > maxText {
		return // expression reports it
	}
	switch n := n.(type) {
	case *literal:
		b.WriteString(s.literal(n.value))
	case *call:
		b.WriteString(n.name + "(")
		for i, arg := range n.args {
			if i > 0 {
				b.WriteString(", ")
			}
			s.write(b, arg)
		}
		b.WriteByte(')')
	case *member:
		s.write(b, n.of)
		b.WriteString("." + n.name)
	case *index:
		s.write(b, n.of)
		b.WriteByte('[')
		s.write(b, n.by)
		b.WriteByte(']')
	}
}

// literal writes a value: as a literal if the language has one for it, otherwise as
// a parameter.
func (s *Sealer) literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null()"
	case bool:
		return strconv.FormatBool(v) + "()"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	value := Wrapped(v)
	text, err := jsonText(value)
	if err != nil && s.err == nil {
		s.err = err
	}
	i, known := s.known[text]
	if !known {
		i = len(s.scope.Values)
		s.known[text] = i
		s.scope.Values = append(s.scope.Values, value)
	}
	return fmt.Sprintf("parameters('%d')", i)
}
