package dsc

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// outputs evaluates the outputs. Outputs that only the host can evaluate become one instance of Echo, the last one.
func (s *scope) outputs(ctx context.Context, doc *Document) {
	n := s.node.Get("outputs")
	if n.IsNull() {
		return
	}
	if n.Kind != yamlpos.Map {
		s.add(n.Errorf("write name: {type: string, value: ...}", `"outputs" must be a map, not %s`, n.Describe()))
		return
	}
	d := &draft{scope: s, body: n, needs: map[*draft]*yamlpos.Node{}, number: len(s.instances)}
	d.Type, d.Entry, d.Name, d.Node, d.Output = outputsType, outputsType, outputsName, n, true
	ofHost, trees := *n, map[string]any{} // outputs that only the host can evaluate
	ofHost.Pairs = nil
	for _, pair := range n.Pairs {
		tree, ok := s.output(ctx, d, pair)
		if !ok {
			continue
		}
		doc.Outputs = append(doc.Outputs, pair.Key.Text)
		if !expr.HasResiduals(tree) {
			doc.Known[pair.Key.Text] = expr.Wrapped(tree)
			continue
		}
		ofHost.Pairs = append(ofHost.Pairs, yamlpos.Pair{Key: pair.Key, Value: pair.Value.Get("value")})
		trees[pair.Key.Text] = tree
	}
	if len(trees) == 0 {
		return
	}
	for s.byRef[d.Ref()] != nil {
		d.Name += "'"
	}
	key := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Text: "output", Value: "output"}
	all := *n
	all.Pairs = []yamlpos.Pair{{Key: key, Value: &ofHost}}
	d.seal(ctx, &all, map[string]any{"output": trees})
	s.instances = append(s.instances, d)
}

// Type and name of the instance for outputs that only the host can evaluate.
const (
	outputsType = "Microsoft.DSC.Debug/Echo"
	outputsName = "outputs"
)

// output evaluates one output, if there is one.
func (s *scope) output(ctx context.Context, d *draft, pair yamlpos.Pair) (tree any, ok bool) {
	var keys outputKeys
	if pair.Value.Kind != yamlpos.Map || pair.Value.Get("value") == nil {
		s.add(pair.Value.Errorf("write name: {type: string, value: ...}", "output %q has no value", pair.Key.Text))
		return nil, false
	}
	s.add(yamlpos.Decode(pair.Value, &keys))
	kind := strings.ToLower(keys.Type)
	if at := pair.Value.Get("type"); at == nil || parameterTypes[kind] == nil {
		s.add(pair.Value.Errorf(typesHint, "the type %q of output %q is not known", keys.Type, pair.Key.Text))
		return nil, false
	}
	if at := pair.Value.Get("condition"); at != nil {
		v, err := s.build(ctx, at, s.exprNames(ctx, nil, nil))
		s.add(err)
		holds, ok := v.(bool)
		if !ok {
			s.add(at.Errorf("", `the "condition" of an output must be true or false, and known without a host`))
		}
		if !holds {
			return nil, false
		}
	}
	tree, err := s.build(ctx, pair.Value.Get("value"), s.exprNames(ctx, nil, d.resourceRef(pair.Key)))
	s.add(err)
	if err != nil || strings.HasPrefix(kind, "secure") || isSecure(tree) {
		return nil, false // secure ones are not shown
	}
	if !expr.HasResiduals(tree) && !parameterTypes[kind](tree) {
		s.add(pair.Value.Errorf("", "output %q must be of type %s, and its value is %s", pair.Key.Text, keys.Type, expr.Kind(tree)))
		return nil, false
	}
	return tree, true
}
