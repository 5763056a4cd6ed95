package manifest

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// A Value is a part of a manifest: values, expressions and their positions.
type Value struct {
	Node  *yamlpos.Node
	texts map[*yamlpos.Node]*templates.Text // the scalars that hold expressions
	keys  bool                              // keys of maps are among them
}

// value compiles the expressions in n.
func (l *loader) value(n *yamlpos.Node) Value {
	v := Value{Node: n, texts: map[*yamlpos.Node]*templates.Text{}}
	l.compile(n, v.texts)
	return v
}

func (l *loader) compile(n *yamlpos.Node, texts map[*yamlpos.Node]*templates.Text) {
	for _, item := range n.Items {
		l.compile(item, texts)
	}
	for _, pair := range n.Pairs {
		l.compile(pair.Value, texts)
	}
	if n.Kind != yamlpos.Scalar || texts[n] != nil {
		return
	}
	if templates.Unclosed(n.Text) {
		l.warn(n, "this {{ is not closed, so that it is text")
	}
	if leftover := templates.LeftoverStatement(n.Text); leftover != "" {
		l.warn(n, leftover+`, or {{ "{%" }} for what is meant so`)
	}
	if !l.isOpen(n) {
		return
	}
	text := l.texts[n] // of defaults, which many resources share
	if text == nil {
		var err error
		text, err = l.text(n)
		l.add(err)
		if err != nil {
			text = &templates.Text{} // still an expression: there is no literal to check
		}
		l.texts[n] = text
	}
	texts[n] = text
}

// properties compiles the expressions in the properties of a resource. Those that
// are maps may have them in their keys, too.
func (l *loader) properties(n *yamlpos.Node) Value {
	v := l.value(n)
	before := len(v.texts)
	for _, pair := range n.Pairs {
		l.compileKeys(pair.Value, v.texts)
	}
	v.keys = len(v.texts) > before
	return v
}

func (l *loader) compileKeys(n *yamlpos.Node, texts map[*yamlpos.Node]*templates.Text) {
	for _, item := range n.Items {
		l.compileKeys(item, texts)
	}
	for _, pair := range n.Pairs {
		l.compile(pair.Key, texts)
		l.compileKeys(pair.Value, texts)
	}
}

// Literal is a value without expressions.
func Literal(n *yamlpos.Node) Value { return Value{Node: n} }

// Open reports whether n, a scalar of the value, is an expression.
func (v Value) Open(n *yamlpos.Node) bool { return v.texts[n] != nil }

// HasExpressions reports whether anything in the value depends on the host.
func (v Value) HasExpressions() bool { return len(v.texts) > 0 }

// Resolve gives the value with every expression replaced by its result, which
// keeps the expression's position.
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

// List resolves a list to plain values, without positions: it may be long. An error says
// what it is that is no list.
func (v Value) List(ctx context.Context, env *templates.Env) ([]any, error) {
	n := v.Node
	if text := v.texts[n]; text != nil {
		result, err := text.Eval(ctx, env)
		if err != nil {
			return nil, err
		}
		if list, ok := result.([]any); ok {
			return list, nil
		}
		n = yamlpos.From(n, result)
	} else {
		var err error
		if n, err = v.Resolve(ctx, env); err != nil {
			return nil, err
		}
	}
	if n.Kind != yamlpos.List {
		return nil, n.Errorf("each takes a list", "each must be a list, not %s", n.Describe())
	}
	return n.Any().([]any), nil
}

// resolveKeys gives a copy in which the keys of maps are replaced too. Two that
// come to the same are an error.
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
			return nil, key.Errorf("", "two keys come to %q", key.Text)
		} else if seen[key.Text] = true; key.Text == "" {
			return nil, key.Errorf("", "the key comes to nothing")
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

// CheckPaths is that of [templates.Text.CheckPaths], for all of the value.
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
