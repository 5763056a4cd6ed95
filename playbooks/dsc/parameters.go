package dsc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// table makes the items of a map.
func (s *scope) table(key, hint string) lazy {
	l := lazy{}
	n := s.node.Get(key)
	if n.IsNull() {
		return l
	}
	if n.Kind != yamlpos.Map {
		s.add(n.Errorf(hint, "%q must be a map, not %s", key, n.Describe()))
		return l
	}
	for _, pair := range n.Pairs {
		l[pair.Key.Text] = &item{key: pair.Key, node: pair.Value}
	}
	return l
}

// parameterTypes are the types, and what the values of each are.
var parameterTypes = map[string]func(v any) bool{
	"string":       isText,
	"securestring": isText,
	"int":          func(v any) bool { _, ok := v.(int64); return ok },
	"bool":         func(v any) bool { _, ok := v.(bool); return ok },
	"object":       isObject,
	"secureobject": isObject,
	"array":        func(v any) bool { _, ok := v.([]any); return ok },
}

func isText(v any) bool   { _, ok := v.(string); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

const typesHint = "the types are string, secureString, int, bool, object, secureObject and array"

// parameterTable reads the parameters, and checks that only those are given.
func (s *scope) parameterTable() lazy {
	l := s.table("parameters", "write name: {type: string}")
	for _, pair := range s.givenParameters() {
		if l[pair.Key.Text] == nil {
			e := unknown("parameter", pair.Key.Text, l.names(), `declare it in "parameters" of the document`).(*expr.Error)
			s.add(pair.Key.Errorf(e.Hint, "the document has no parameter %q", pair.Key.Text))
		}
	}
	return l
}

// givenParameters are the pairs of a parameter file: below parameters, or by
// themselves.
func (s *scope) givenParameters() []yamlpos.Pair {
	if s.given == nil {
		return nil
	}
	n := s.given
	if inner := n.Get("parameters"); inner != nil {
		for _, pair := range n.Pairs {
			if !slices.Contains([]string{"parameters", "$schema", "contentVersion"}, pair.Key.Text) {
				s.add(pair.Key.Errorf(`put it below "parameters"`, `unknown key %q next to "parameters"`, pair.Key.Text))
			}
		}
		n = inner
	}
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamlpos.Map {
		s.add(n.Errorf("write parameters: {name: value}", `"parameters" must be a map, not %s`, n.Describe()))
		s.given = nil
		return nil
	}
	return n.Pairs
}

// givenValue is the value that a parameter file has for a parameter; nil if none.
func (s *scope) givenValue(name string) *yamlpos.Node {
	for _, pair := range s.givenParameters() {
		if pair.Key.Text != name {
			continue
		}
		if v := pair.Value.Get("value"); v != nil && len(pair.Value.Pairs) == 1 {
			return v
		}
		return pair.Value
	}
	return nil
}

func (s *scope) parameterValue(ctx context.Context, name string) (expr.Result, error) {
	return s.get("parameters", s.parameters, name, func(i *item) (expr.Result, error) { return s.readParameter(ctx, name, i) })
}

func (s *scope) readParameter(ctx context.Context, name string, i *item) (expr.Result, error) {
	var keys parameterKeys
	if i.node.Kind != yamlpos.Map {
		return expr.Result{}, i.node.Errorf(typesHint, "parameter %q must be a map with a type, not %s", name, i.node.Describe())
	}
	if err := yamlpos.Decode(i.node, &keys); err != nil {
		return expr.Result{}, err
	}
	kind := strings.ToLower(keys.Type)
	fits := parameterTypes[kind]
	switch at := i.node.Get("type"); {
	case at == nil:
		return expr.Result{}, i.key.Errorf(typesHint, "parameter %q has no type", name)
	case fits == nil:
		return expr.Result{}, at.Errorf(typesHint, "the type %q of parameter %q is not known", keys.Type, name)
	}
	if err := checkBounds(i.node, kind, &keys); err != nil {
		return expr.Result{}, err
	}
	v, at, err := s.parameterSource(ctx, name, i)
	if err != nil {
		return expr.Result{}, err
	}
	secure := strings.HasPrefix(kind, "secure")
	if secure || expr.IsSecure(v) {
		v, secure = expr.Revealed(v), true
	}
	if err := s.checkParameter(name, kind, v, at, &keys, secure); err != nil {
		return expr.Result{}, err
	}
	if secure {
		v = expr.NewSecure(v)
	}
	return expr.Known(v), nil
}

// parameterSource returns the value of a parameter and its place.
func (s *scope) parameterSource(ctx context.Context, name string, i *item) (any, *yamlpos.Node, error) {
	if given := s.givenValue(name); given != nil {
		return expr.Normal(given.Any()), given, nil // a value: nothing in it is an expression
	}
	def := i.node.Get("defaultValue")
	if def == nil {
		return nil, nil, i.key.Errorf(`give it with --parameters FILE, or write "defaultValue"`, "parameter %q has no value", name)
	}
	names := &expr.Names{Parameter: noParameter, Function: s.function, Now: s.opts.Now}
	tree, err := s.build(ctx, def, names)
	if err != nil {
		return nil, nil, err
	}
	if expr.HasResiduals(tree) {
		return nil, nil, def.Errorf("use the expression in a variable or a property", "the default of parameter %q depends on the host", name)
	}
	return tree, def, nil
}

// noParameter is parameters() in a default, which dsc has refused since 3.3.
func noParameter(string) (expr.Result, error) {
	return expr.Result{}, &expr.Error{Msg: "parameters() cannot be used in the default value of a parameter", Hint: "define a variable with this expression, and use the variable in place of the parameter"}
}

// checkBounds refuses constraints that mean nothing for the type.
func checkBounds(n *yamlpos.Node, kind string, keys *parameterKeys) error {
	for _, c := range []struct {
		key   string
		fits  bool
		types string
	}{
		{"minValue", kind == "int", "int"}, {"maxValue", kind == "int", "int"},
		{"minLength", kind != "int" && kind != "bool" && !strings.HasSuffix(kind, "object"), "string, secureString and array"},
		{"maxLength", kind != "int" && kind != "bool" && !strings.HasSuffix(kind, "object"), "string, secureString and array"},
	} {
		if at := n.Get(c.key); at != nil && !c.fits {
			return at.Errorf("it is for parameters of type "+c.types, "a parameter of type %s has no %q", keys.Type, c.key)
		}
	}
	return nil
}

// checkParameter compares a value with its declaration in the document. Errors do not quote secure values.
func (s *scope) checkParameter(name, kind string, v any, at *yamlpos.Node, keys *parameterKeys, secure bool) error {
	shown := "the value of parameter " + fmt.Sprintf("%q", name)
	if !parameterTypes[kind](v) {
		return at.Errorf("", "%s must be of type %s, not %s", shown, keys.Type, expr.Kind(v))
	}
	if len(keys.Allowed) > 0 && !slices.ContainsFunc(keys.Allowed, func(a any) bool { return expr.Equal(expr.Normal(a), v) }) {
		var words []string
		for _, a := range keys.Allowed {
			words = append(words, fmt.Sprint(a))
		}
		if secure {
			return at.Errorf("", `%s is not one of its "allowedValues"`, shown)
		}
		return at.Errorf("write "+alternatives(words), `%s is not one of its "allowedValues"`, shown)
	}
	size, what := int64(0), "length"
	low, high := keys.MinLength, keys.MaxLength
	switch v := v.(type) {
	case int64:
		size, what, low, high = v, "value", keys.Min, keys.Max
	case string:
		size = int64(utf8.RuneCountInString(v))
	case []any:
		size = int64(len(v))
	default:
		return nil
	}
	if low != nil && size < *low {
		return at.Errorf("", "%s is below its least %s, %d", shown, what, *low)
	}
	if high != nil && size > *high {
		return at.Errorf("", "%s is above its greatest %s, %d", shown, what, *high)
	}
	return nil
}

func alternatives(words []string) string {
	const most = 10
	if len(words) > most {
		words = append(words[:most:most], "…")
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// variableTable reads the variables.
func (s *scope) variableTable() lazy {
	l := s.table("variables", "write name: value")
	if c := l["copy"]; c != nil && c.node.Kind == yamlpos.List {
		s.add(c.key.Errorf("write name: \"[map(range(0, 3), lambda('i', ...))]\"", `"copy" in "variables" is not supported`))
		delete(l, "copy")
	}
	return l
}

func (s *scope) variableValue(ctx context.Context, name string) (expr.Result, error) {
	return s.get("variables", s.variables, name, func(i *item) (expr.Result, error) {
		names := &expr.Names{Parameter: s.parameter(ctx), Variable: s.variable(ctx), Function: s.function}
		if isExpression(i.node) {
			return s.expression(ctx, i.node, names)
		}
		tree, err := s.build(ctx, i.node, names)
		if err != nil {
			return expr.Result{}, err
		}
		if expr.HasResiduals(tree) {
			return expr.Result{}, i.node.Errorf("make the whole variable one expression, with createObject() and createArray()", "a part of variable %q depends on the host", name)
		}
		return expr.Known(tree), nil
	})
}
