package dsc

import (
	"context"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// functionKeys are the keys of an entry of functions.
type functionKeys struct {
	Namespace string `json:"namespace"`
	Members   any    `json:"members"`
}

type memberKeys struct {
	Parameters []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"parameters"`
	Output struct {
		Type  string `json:"type"`
		Value any    `json:"value"`
	} `json:"output"`
	Metadata any `json:"metadata"`
}

// readFunctions reads the functions that the document defines.
func (s *scope) readFunctions() {
	s.functions = map[string]*expr.Function{}
	list := s.node.Get("functions")
	if list.IsNull() {
		return
	}
	if list.Kind != yamlpos.List {
		s.add(list.Errorf("write - namespace: NAME", `"functions" must be a list, not %s`, list.Describe()))
		return
	}
	for _, n := range list.Items {
		var keys functionKeys
		s.add(yamlpos.Decode(n, &keys))
		members := n.Get("members")
		if keys.Namespace == "" || members == nil || members.Kind != yamlpos.Map {
			s.add(n.Errorf("write namespace: NAME and members: {NAME: {parameters: [...], output: {...}}}", `"functions" needs a namespace and members`))
			continue
		}
		for _, pair := range members.Pairs {
			s.defineFunction(keys.Namespace+"."+pair.Key.Text, pair)
		}
	}
}

func (s *scope) defineFunction(name string, pair yamlpos.Pair) {
	var keys memberKeys
	if pair.Value.Kind != yamlpos.Map {
		s.add(pair.Value.Errorf("write output: {type: string, value: ...}", "the function %q must be a map, not %s", name, pair.Value.Describe()))
		return
	}
	s.add(yamlpos.Decode(pair.Value, &keys))
	value := member(pair.Value, "output", "value")
	if value == nil {
		s.add(pair.Key.Errorf("write output: {type: string, value: ...}", "the function %q has no output with a value", name))
		return
	}
	if s.functions[strings.ToLower(name)] != nil {
		s.add(pair.Key.Errorf("", "the function %q is defined twice", name))
	}
	output := typeOf{value, keys.Output.Type, "the output of " + name + "()"}
	if err := output.known(member(pair.Value, "output", "type")); err != nil {
		s.add(err)
		return
	}
	f := &expr.Function{Name: name}
	var parameters []typeOf
	for i, p := range keys.Parameters {
		at := member(pair.Value, "parameters").Items[i]
		one := typeOf{at, p.Type, fmt.Sprintf("parameter %q of %s()", p.Name, name)}
		if err := one.known(at.Get("type")); err != nil {
			s.add(err)
			return
		}
		f.Parameters, parameters = append(f.Parameters, p.Name), append(parameters, one)
	}
	f.Argument = func(i int, given expr.Result) (expr.Result, error) { return parameters[i].of(given) }
	f.Value = func(ctx context.Context, e *expr.Evaluator) (expr.Result, error) {
		p, err := functionValue(ctx, e, value)
		if err != nil {
			return p, err
		}
		if p, err = output.of(p); err != nil {
			return p, &expr.Placed{Err: placed(value, err)}
		}
		return p, nil
	}
	s.functions[strings.ToLower(name)] = f
	s.names = append(s.names, name)
}

func functionValue(ctx context.Context, e *expr.Evaluator, value *yamlpos.Node) (expr.Result, error) {
	if !isExpression(value) {
		v := value.Any()
		if text, ok := v.(string); ok {
			v = expr.Plain(text)
		}
		return expr.Known(v), nil
	}
	p, err := e.Eval(ctx, value.Text)
	if err != nil {
		return expr.Result{}, &expr.Placed{Err: placed(value, err)}
	}
	return p, nil
}

// typeOf is the type of a parameter or output of a function.
type typeOf struct {
	node *yamlpos.Node
	name string // as written
	what string // in errors
}

// known returns an error for an unknown type; at is its place.
func (t typeOf) known(at *yamlpos.Node) error {
	switch {
	case at == nil:
		return t.node.Errorf(typesHint, "%s has no type", t.what)
	case parameterTypes[strings.ToLower(t.name)] == nil:
		return at.Errorf(typesHint, "the type %q of %s is not known", t.name, t.what)
	}
	return nil
}

// of returns a value that must have the type; the value of a secure type is secure. A value that only the host knows is
// accepted, since the host does not know functions.
func (t typeOf) of(p expr.Result) (expr.Result, error) {
	v, known := p.Value()
	if !known {
		return p, nil
	}
	kind := strings.ToLower(t.name)
	plain := expr.Revealed(v)
	if !parameterTypes[kind](plain) {
		return p, &expr.Error{Msg: fmt.Sprintf("%s must be of type %s, not %s", t.what, t.name, expr.Kind(plain))}
	}
	if strings.HasPrefix(kind, "secure") {
		return expr.Known(expr.NewSecure(plain)), nil
	}
	return p, nil
}
