package expr

import "fmt"

// fold evaluates the strings of a tree of maps, lists and scalars that are expressions, and removes the escapes from
// the others. eval is called for each expression. In the returned tree, a [Result] replaces each value that remains for
// the host.
func fold(tree any, eval func(text string) (Result, error)) (any, error) {
	switch v := tree.(type) {
	case string:
		return FoldText(v, eval)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = fold(item, eval); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range keys(v) {
			var err error
			if m[key], err = fold(v[key], eval); err != nil {
				return nil, err
			}
		}
		return Secured(m), nil
	}
	return Normal(tree), nil
}

// FoldText is fold for one string.
func FoldText(text string, eval func(text string) (Result, error)) (any, error) {
	if !Is(text) {
		return Plain(text), nil
	}
	p, err := eval(text)
	if err != nil || p.residual != nil {
		return p, err
	}
	if l, ok := p.value.(*lambda); ok {
		return nil, fmt.Errorf("the expression returns %s, which is not a value", Kind(l))
	}
	return p.value, nil
}

// Secured returns the secure value that an object represents, or the object. Its members have been evaluated.
func Secured(m map[string]any) any {
	if len(m) != 1 {
		return m
	}
	if inner, ok := m[secureString].(Secure); ok {
		return inner
	}
	if inner, ok := m[secureObject].(Secure); ok {
		return inner
	}
	if HasResiduals(m) {
		return m
	}
	return Normal(m)
}

// HasResiduals reports whether something in a tree remains for the host.
func HasResiduals(tree any) bool {
	return Some(tree, func(v any) bool { p, ok := v.(Result); return ok && p.residual != nil })
}

// Wrapped returns a value in the form of encoding/json, as it is sent: secure values are objects with the member
// secureString or secureObject.
func Wrapped(v any) any {
	return Mapped(v, func(v any) (any, bool) {
		switch v := v.(type) {
		case Result:
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
