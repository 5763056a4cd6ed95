package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// A Sealer writes properties for a host that evaluates what remains of them.
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

// Condition makes what remains of an expression the condition.
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
