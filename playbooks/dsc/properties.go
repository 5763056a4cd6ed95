package dsc

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// fold evaluates the properties of all instances, now that all are known.
func (r *reader) fold(ctx context.Context) {
	for _, d := range r.instances {
		if ctx.Err() != nil {
			r.add(ctx.Err())
			return
		}
		if holds, known := d.holds(ctx).Value(); known && holds == false {
			d.Excluded = true
		}
		d.dependencies(ctx, d)
		for _, group := range d.around {
			d.dependencies(ctx, group)
			for _, other := range group.order { // resources that its condition reads
				d.need(group.needs[other], other)
			}
		}
		if !d.Excluded {
			d.properties(ctx)
		}
	}
}

// properties evaluates the properties.
func (d *draft) properties(ctx context.Context) {
	n := d.body.Get("properties")
	switch {
	case n.IsNull():
		n = &yamlpos.Node{File: d.Node.File, Line: d.Node.Line, Column: d.Node.Column, Kind: yamlpos.Map}
	case n.Kind != yamlpos.Map:
		d.scope.add(n.Errorf("", `"properties" must be a map, not %s`, n.Describe()))
		return
	}
	tree, err := d.scope.build(ctx, n, d.scope.exprNames(ctx, d.loop, d.resourceRef(n)))
	if err != nil {
		d.scope.add(err)
		return
	}
	d.seal(ctx, n, tree)
}

// seal makes the properties as they travel, of a node and the tree made from it.
func (d *draft) seal(ctx context.Context, n *yamlpos.Node, tree any) {
	d.Secure = isSecure(tree)
	if d.BuiltIn {
		d.values(ctx, n, tree)
		return
	}
	if _, known := d.holds(ctx).Value(); known && !expr.HasResiduals(tree) {
		d.Properties = plain.write(n, tree)
		return
	}
	sealer := expr.NewSealer()
	d.Properties = writer{value: sealer.Value, escapes: true}.write(n, tree)
	sealer.Condition(d.holds(ctx))
	var err error
	if d.Scope, err = sealer.Scope(); err != nil {
		d.scope.add(d.Node.Errorf("", "%v", err))
	}
}

// values makes the properties of a built-in type, which evaluates nothing on the
// host. A property that is the state of another resource, or a part of it, is
// received.
func (d *draft) values(ctx context.Context, n *yamlpos.Node, tree any) {
	if _, known := d.holds(ctx).Value(); !known {
		d.scope.add(d.Node.Errorf("decide by a parameter, or use a DSC resource", `"condition" depends on the host, but %s cannot evaluate expressions there`, d.Type))
	}
	receives := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Kind: yamlpos.Map}
	kept := *n
	kept.Pairs = nil
	members, _ := tree.(map[string]any) // or all of them are secure
	for _, pair := range n.Pairs {
		value := members[pair.Key.Text]
		if !expr.HasResiduals(value) {
			kept.Pairs = append(kept.Pairs, pair)
			continue
		}
		ref, key, ok := "", "", false
		if result, whole := value.(expr.Result); whole {
			ref, key, ok = result.Reference()
		}
		if !ok {
			d.scope.add(pair.Value.Errorf("take a whole property from reference(): \"[reference(resourceId('Owner/Thing', 'name')).member]\"",
				"%s depends on the host, but %s cannot evaluate expressions there", pair.Key.Text, d.Type))
			continue
		}
		from := strings.TrimSuffix(ref+".state."+key, ".")
		receives.Pairs = append(receives.Pairs, yamlpos.Pair{Key: pair.Key, Value: yamlpos.From(pair.Value, from)})
	}
	if len(receives.Pairs) > 0 {
		d.Receives = receives
	}
	d.Properties = revealed.write(&kept, tree)
}
