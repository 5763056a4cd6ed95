package manifest

import (
	"context"
	"slices"
	"strconv"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// A Value is a part of a manifest: values, expressions and their positions.
type Value struct {
	Node  *yamlpos.Node
	texts map[*yamlpos.Node]*templates.Text // the scalars that hold expressions
	keys  bool                              // keys of maps are among them
}

// Literal is a value without expressions.
func Literal(n *yamlpos.Node) Value { return Value{Node: n} }

// Open reports whether n, a scalar of the value, is an expression.
func (v Value) Open(n *yamlpos.Node) bool { return v.texts[n] != nil }

// HasExpressions reports whether anything in the value depends on the host.
func (v Value) HasExpressions() bool { return len(v.texts) > 0 }

// Resolve returns the value with every expression replaced by its result, which keeps the expression's position.
func (v Value) Resolve(ctx context.Context, env *templates.Env) (*yamlpos.Node, error) {
	if !v.HasExpressions() {
		return v.Node, nil
	}
	resolved, err := v.Node.Map(func(n *yamlpos.Node) (*yamlpos.Node, error) {
		text := v.texts[n]
		if text == nil {
			return n, nil
		}
		result, err := text.Eval(ctx, env)
		if err != nil {
			return nil, err
		}
		return yamlpos.From(n, result), nil
	})
	if err != nil || !v.keys {
		return resolved, err
	}
	return v.resolveKeys(ctx, env, resolved)
}

// List resolves a list to plain values, without positions, since it may be long. If the value is not a list, the error
// names the actual kind. order has the order of the keys in the elements.
func (v Value) List(ctx context.Context, env *templates.Env) (list []any, order func(i int) templates.KeyOrder, err error) {
	n := v.Node
	if text := v.texts[n]; text != nil {
		result, keys, err := text.EvalOrdered(ctx, env)
		if err != nil {
			return nil, nil, err
		}
		if list, ok := result.([]any); ok {
			return list, func(i int) templates.KeyOrder { return keys.At(strconv.Itoa(i)).Keys }, nil
		}
		n = yamlpos.From(n, result)
	} else if n, err = v.Resolve(ctx, env); err != nil {
		return nil, nil, err
	}
	if n.Kind != yamlpos.List {
		return nil, nil, n.Errorf(`"each" takes a list`, `the value of "each" must be a list, not %s`, n.Describe())
	}
	return n.Any().([]any), func(i int) templates.KeyOrder { return templates.NodeOrder(n.Items[i]) }, nil
}

// resolveKeys returns a copy in which the keys of maps are resolved too. Two keys with the same result are an error.
func (v Value) resolveKeys(ctx context.Context, env *templates.Env, n *yamlpos.Node) (*yamlpos.Node, error) {
	changed := *n
	changed.Items = slices.Clone(n.Items)
	changed.Pairs = slices.Clone(n.Pairs)
	var err error
	for i, item := range changed.Items {
		if changed.Items[i], err = v.resolveKeys(ctx, env, item); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for i, pair := range changed.Pairs {
		if text := v.texts[pair.Key]; text != nil {
			key, err := text.String(ctx, env)
			if err != nil {
				return nil, err
			}
			changed.Pairs[i].Key = yamlpos.From(pair.Key, key)
		}
		if key := changed.Pairs[i].Key; seen[key.Text] {
			return nil, key.Errorf("", "two keys evaluate to %q", key.Text)
		} else if seen[key.Text] = true; key.Text == "" {
			return nil, key.Errorf("", "the key evaluates to an empty text")
		}
		if changed.Pairs[i].Value, err = v.resolveKeys(ctx, env, pair.Value); err != nil {
			return nil, err
		}
	}
	return &changed, nil
}

// Text resolves a scalar to its text.
func (v Value) Text(ctx context.Context, env *templates.Env) (string, error) {
	if text := v.texts[v.Node]; text != nil {
		return text.String(ctx, env)
	}
	return v.Node.Text, nil
}

// CheckPaths does the check of [templates.Text.CheckPaths] for all texts of the value.
func (v *Value) CheckPaths(files *templates.Files, taint templates.Taint) error {
	if v == nil {
		return nil
	}
	var errs yamlpos.Errors
	for _, text := range v.texts {
		errs.Add(text.CheckPaths(files, taint))
	}
	return errs.Err()
}

// FromHost reports whether any part of the value can hold what a host sent.
func (v *Value) FromHost(taint templates.Taint) bool {
	if v == nil {
		return false
	}
	for _, text := range v.texts {
		if text.FromHost(taint) {
			return true
		}
	}
	return false
}

// fromHost is FromHost for a part of the value, keys of maps included.
func (v Value) fromHost(n *yamlpos.Node, taint templates.Taint) bool {
	if text := v.texts[n]; text != nil && text.FromHost(taint) {
		return true
	}
	return slices.ContainsFunc(n.Items, func(item *yamlpos.Node) bool { return v.fromHost(item, taint) }) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return v.fromHost(p.Key, taint) || v.fromHost(p.Value, taint) })
}
