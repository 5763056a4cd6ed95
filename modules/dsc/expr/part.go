package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Part is what comes of an expression: a value, or what remains of it for the
// host.
type Part struct {
	value any
	rest  node
}

// Known makes the part of a value.
func Known(v any) Part { return Part{value: Normal(v)} }

// Value gives the value, if it is known.
func (p Part) Value() (v any, known bool) { return p.value, p.rest == nil }

var errSecureCondition = errors.New("the condition is secure, and what it decides would tell of it")

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

// IsSecure reports whether a part is secure, or what remains of it holds something
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
