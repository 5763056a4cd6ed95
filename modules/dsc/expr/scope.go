package expr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// Fold evaluates the strings of a tree of maps, lists and scalars that are
// expressions, and takes the escapes out of the others. eval is called for each
// expression. In the tree that it gives, a [Part] stands wherever something is left
// for the host.
func Fold(tree any, eval func(text string) (Part, error)) (any, error) {
	switch v := tree.(type) {
	case string:
		if !Is(v) {
			return Plain(v), nil
		}
		p, err := eval(v)
		if err != nil || p.rest != nil {
			return p, err
		}
		if l, ok := p.value.(*lambda); ok {
			return nil, fmt.Errorf("the expression gives %s, which is no value", Kind(l))
		}
		return p.value, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = Fold(item, eval); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range keys(v) {
			var err error
			if m[key], err = Fold(v[key], eval); err != nil {
				return nil, err
			}
		}
		return secured(m), nil
	}
	return Normal(tree), nil
}

// Secured gives the secure value that an object stands for, or the object. Its
// members have been evaluated.
func Secured(m map[string]any) any { return secured(m) }

func secured(m map[string]any) any {
	if len(m) != 1 {
		return m
	}
	if inner, ok := m[secureString].(Secure); ok {
		return inner
	}
	if inner, ok := m[secureObject].(Secure); ok {
		return inner
	}
	if HasParts(m) {
		return m
	}
	return Normal(m)
}

// HasParts reports whether something in a tree is left for the host.
func HasParts(tree any) bool {
	switch v := tree.(type) {
	case Part:
		return v.rest != nil
	case []any:
		for _, item := range v {
			if HasParts(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if HasParts(item) {
				return true
			}
		}
	}
	return false
}

// Seal gives the properties of a resource as they travel, and its condition if that
// is left for the host. The scope is nil if nothing is.
func Seal(properties map[string]any, condition Part) (map[string]any, *Scope, error) {
	if condition.rest == nil && !HasParts(properties) {
		return Wrapped(properties).(map[string]any), nil, nil
	}
	s := NewSealer()
	out := s.seal(properties).(map[string]any)
	s.Condition(condition)
	return out, s.scope, s.err
}

// Wrapped is a value in the form of encoding/json, as it is sent: secure values are
// objects with the member secureString or secureObject.
func Wrapped(v any) any {
	return Mapped(v, func(v any) (any, bool) {
		switch v := v.(type) {
		case Part:
			return Wrapped(v.value), true
		case Secure:
			key := secureObject
			if _, isText := v.Reveal().(string); isText {
				key = secureString
			}
			return map[string]any{key: Revealed(v.Reveal())}, true
		}
		return nil, false
	})
}

// A Sealer writes properties for a host that evaluates what is left of them.
type Sealer struct {
	scope *Scope
	known map[string]int // the JSON of a value → its number in the scope
	size  int
	err   error
}

// NewSealer makes a sealer for the properties of one resource.
func NewSealer() *Sealer { return &Sealer{scope: &Scope{}, known: map[string]int{}} }

// Value gives a part, or a value in the form of this package, as it stands in the
// properties.
func (s *Sealer) Value(v any) any { return s.seal(v) }

// Condition makes what is left of an expression the condition.
func (s *Sealer) Condition(p Part) {
	if p.rest != nil {
		s.scope.Condition = s.expression(p.rest)
	}
}

// Scope gives what has to travel with the properties.
func (s *Sealer) Scope() (*Scope, error) { return s.scope, s.err }

// seal gives a tree in which strings are as in a document.
func (s *Sealer) seal(tree any) any {
	switch v := tree.(type) {
	case Part:
		if v.rest == nil {
			return s.seal(v.value)
		}
		return s.expression(v.rest)
	case string:
		return Escape(v)
	case Secure:
		return "[" + s.literal(v) + "]"
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.seal(item)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = s.seal(item)
		}
		return m
	}
	return tree
}

func (s *Sealer) expression(n node) string {
	var b strings.Builder
	b.WriteByte('[')
	s.write(&b, n)
	b.WriteByte(']')
	if s.size += b.Len(); s.size > maxText && s.err == nil {
		s.err = fmt.Errorf("what is left of the expressions for the host is longer than %d KiB", maxText>>10)
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
		v, err := Fold(properties[key], func(text string) (Part, error) { return e.evalText(ctx, text) })
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

func (e *Evaluator) evalText(ctx context.Context, text string) (Part, error) {
	x, err := Parse(text)
	if err != nil {
		return Part{}, err
	}
	return e.Eval(ctx, x)
}

var errSecureCondition = errors.New("the condition is secure, and what it decides would tell of it")

func (e *Evaluator) condition(ctx context.Context, text string) (bool, error) {
	p, err := e.evalText(ctx, text)
	if err != nil {
		return false, fmt.Errorf("condition: %w", err)
	}
	return p.Bool("condition")
}

// Bool gives a part that must be a boolean; what names it in errors.
func (p Part) Bool(what string) (bool, error) {
	switch v := p.value.(type) {
	case bool:
		return v, nil
	case Secure:
		return false, fmt.Errorf("%s: %w", what, errSecureCondition)
	}
	return false, fmt.Errorf("%s: the expression gives %s, not a boolean", what, Kind(p.value))
}

// And joins the conditions of a resource and of what it stands in. Both must be
// booleans, or left for the host.
func And(a, b Part) Part {
	for _, p := range []struct{ one, other Part }{{a, b}, {b, a}} {
		if p.one.rest != nil {
			continue
		}
		if holds, ok := p.one.value.(bool); ok && holds {
			return p.other
		}
		return p.one
	}
	return Part{rest: &call{name: "and", args: []node{a.rest, b.rest}, rest: around(a.rest, b.rest)}}
}

// Condition evaluates an expression that must give a boolean, such as that of a
// resource's manifest, with no document around it. text is in brackets.
func Condition(ctx context.Context, text string, env Environment) (bool, error) {
	return NewEvaluator(&Names{}, env).condition(ctx, text)
}

// IsSecure reports whether a part is secure, or what is left of it holds something
// that is.
func (p Part) IsSecure() bool {
	if p.rest == nil {
		return IsSecure(p.value)
	}
	return secureNode(p.rest)
}

func secureNode(n node) bool {
	switch n := n.(type) {
	case *literal:
		return IsSecure(n.value)
	case *call:
		return slices.ContainsFunc(n.args, secureNode)
	case *member:
		return secureNode(n.of)
	case *index:
		return secureNode(n.of) || secureNode(n.by)
	}
	return false
}

// Reference reports whether what is left is reference() alone, with members of it:
// of which resource, and the members with dots between them.
func (p Part) Reference() (ref, members string, ok bool) {
	n := p.rest
	for {
		m, isMember := n.(*member)
		if !isMember {
			break
		}
		members = strings.TrimSuffix(m.name+"."+members, ".")
		n = m.of
	}
	c, isCall := n.(*call)
	if !isCall || !isReference(c) {
		return "", "", false
	}
	id, isLiteral := c.args[0].(*literal)
	if !isLiteral {
		return "", "", false
	}
	ref, ok = id.value.(string)
	return ref, members, ok
}
