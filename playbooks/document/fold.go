package document

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// fold evaluates the properties of all instances, now that all are known.
func (r *reader) fold() {
	for _, d := range r.instances {
		if r.ctx.Err() != nil {
			r.add(r.ctx.Err())
			return
		}
		if holds, known := d.holds().Value(); known && holds == false {
			d.Excluded = true
		}
		d.dependencies(d)
		for _, group := range d.around {
			d.dependencies(group)
			for _, other := range group.order { // what its condition asks about
				d.need(group.needs[other], other)
			}
		}
		if !d.Excluded {
			d.properties()
		}
	}
}

// needs notes that a resource depends on others.
func (d *draft) need(at *yamlpos.Node, others ...*draft) {
	for _, other := range others {
		if other.isGroup {
			d.need(at, other.within...)
			continue
		}
		if d.needs[other] == nil {
			d.needs[other] = at
			d.order = append(d.order, other)
		}
	}
}

// dependencies reads dependsOn of what is either the resource or a group around it.
func (d *draft) dependencies(of *draft) {
	list, s := of.body.Get("dependsOn"), of.scope
	switch {
	case list == nil || list.Kind == yamlpos.Scalar && list.Value == nil:
		return
	case list.Kind != yamlpos.List:
		s.add(list.Errorf("write - \"[resourceId('Owner/Thing', 'name')]\"", "dependsOn must be a list, not %s", list.Describe()))
		return
	}
	for _, item := range list.Items {
		id, ok := s.text(item, "an entry of dependsOn", s.exprNames(of.loop, nil))
		if !ok {
			continue
		}
		found, err := s.find(id)
		if err != nil {
			s.add(placed(item, err))
			continue
		}
		for _, other := range found {
			if other == d || slices.Contains(d.around, other) {
				s.add(item.Errorf("", "%s depends on itself", d.Ref()))
				continue
			}
			d.need(item, other)
		}
	}
}

// find gives the resources with an id, in the document or group itself.
func (s *scope) find(id string) ([]*draft, error) {
	typeName, name, ok := strings.Cut(id, ":")
	if !ok {
		return nil, &expr.Error{Msg: "a resource is named by [resourceId('Owner/Thing', 'name')], not by \"" + id + "\""}
	}
	for scope := s; scope != nil; scope = scope.parent {
		if found := scope.byID[strings.ToLower(typeName)+":"+name]; len(found) > 0 {
			return found, nil
		}
	}
	var known []string
	for _, list := range s.byID {
		for _, d := range list {
			known = append(known, expr.ResourceID(d.Type, d.Name))
		}
	}
	slices.Sort(known)
	return nil, unknown("resource", id, known, "it must stand in the same document or group, or around it")
}

// resourceRef gives the instance that an expression of d asks about, which d then
// depends on.
func (d *draft) resourceRef(at *yamlpos.Node) func(id string) (string, error) {
	return func(id string) (string, error) {
		found, err := d.scope.find(id)
		if err != nil {
			return "", err
		}
		other := found[0]
		switch {
		case other.isGroup:
			return "", &expr.Error{Msg: "a group has no state of its own", Hint: "refer to a resource in it"}
		case other == d:
			return "", &expr.Error{Msg: d.Ref() + " refers to itself"}
		case d.scope.opts.Tells != nil && !d.scope.opts.Tells(other.Entry):
			return "", &expr.Error{Msg: "a resource of type " + other.Type + " does not tell its state", Hint: "order it by dependsOn"}
		}
		d.need(at, other)
		return other.Ref(), nil
	}
}

// properties evaluates the properties.
func (d *draft) properties() {
	n := d.body.Get("properties")
	switch {
	case n == nil || n.Kind == yamlpos.Scalar && n.Value == nil:
		n = &yamlpos.Node{File: d.Node.File, Line: d.Node.Line, Column: d.Node.Column, Kind: yamlpos.Map}
	case n.Kind != yamlpos.Map:
		d.scope.add(n.Errorf("", "properties must be a map, not %s", n.Describe()))
		return
	}
	tree, err := d.scope.build(n, d.scope.exprNames(d.loop, d.resourceRef(n)))
	if err != nil {
		d.scope.add(err)
		return
	}
	d.seal(n, tree)
}

// seal makes the properties as they travel, of a node and the tree made from it.
func (d *draft) seal(n *yamlpos.Node, tree any) {
	d.Secure = isSecure(tree)
	if d.BuiltIn {
		d.values(n, tree)
		return
	}
	if _, known := d.holds().Value(); known && !expr.HasParts(tree) {
		d.Properties = plain.write(n, tree)
		return
	}
	sealer := expr.NewSealer()
	d.Properties = writer{value: sealer.Value, escapes: true}.write(n, tree)
	sealer.Condition(d.holds())
	var err error
	if d.Scope, err = sealer.Scope(); err != nil {
		d.scope.add(d.Node.Errorf("", "%v", err))
	}
}

// values makes the properties of a built-in type, which evaluates nothing on the
// host. A property that is the state of another resource, or a part of it, is
// received.
func (d *draft) values(n *yamlpos.Node, tree any) {
	if _, known := d.holds().Value(); !known {
		d.scope.add(d.Node.Errorf("decide by a parameter, or use a DSC resource", "the condition depends on the host, and %s evaluates nothing there", d.Type))
	}
	receives := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Kind: yamlpos.Map}
	kept := *n
	kept.Pairs = nil
	members, _ := tree.(map[string]any) // or all of them are secure
	for _, pair := range n.Pairs {
		value := members[pair.Key.Text]
		if !expr.HasParts(value) {
			kept.Pairs = append(kept.Pairs, pair)
			continue
		}
		ref, key, ok := "", "", false
		if part, whole := value.(expr.Part); whole {
			ref, key, ok = part.Reference()
		}
		if !ok {
			d.scope.add(pair.Value.Errorf("take a whole property from reference(): \"[reference(resourceId('Owner/Thing', 'name')).member]\"",
				"%s depends on the host, and %s evaluates nothing there", pair.Key.Text, d.Type))
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

// outputs evaluates the outputs. Those that only the host can tell become one
// instance of Echo, which stands last.
func (s *scope) outputs(doc *Document) {
	n := s.node.Get("outputs")
	if n == nil || n.Kind == yamlpos.Scalar && n.Value == nil {
		return
	}
	if n.Kind != yamlpos.Map {
		s.add(n.Errorf("write name: {type: string, value: ...}", "outputs must be a map, not %s", n.Describe()))
		return
	}
	d := &draft{scope: s, body: n, needs: map[*draft]*yamlpos.Node{}, number: len(s.instances)}
	d.Type, d.Entry, d.Name, d.Node, d.Output = outputsType, outputsType, outputsName, n, true
	ofHost, trees := *n, map[string]any{} // the outputs that only the host can tell
	ofHost.Pairs = nil
	for _, pair := range n.Pairs {
		tree, ok := s.output(d, pair)
		if !ok {
			continue
		}
		doc.Outputs = append(doc.Outputs, pair.Key.Text)
		if !expr.HasParts(tree) {
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
	d.seal(&all, map[string]any{"output": trees})
	s.instances = append(s.instances, d)
}

// The instance that gives the outputs that only the host can tell.
const (
	outputsType = "Microsoft.DSC.Debug/Echo"
	outputsName = "outputs"
)

// output evaluates one output, if there is one.
func (s *scope) output(d *draft, pair yamlpos.Pair) (tree any, ok bool) {
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
		v := at.Value
		if isExpression(at) {
			p, err := s.expression(at, s.exprNames(nil, nil))
			s.add(err)
			v, _ = p.Value()
		}
		holds, ok := v.(bool)
		if !ok {
			s.add(at.Errorf("", "the condition of an output must be true or false, and known without a host"))
		}
		if !holds {
			return nil, false
		}
	}
	tree, err := s.build(pair.Value.Get("value"), s.exprNames(nil, d.resourceRef(pair.Key)))
	s.add(err)
	if err != nil || strings.HasPrefix(kind, "secure") || isSecure(tree) {
		return nil, false // secure ones are shown to nobody
	}
	if !expr.HasParts(tree) && !parameterTypes[kind](tree) {
		s.add(pair.Value.Errorf("", "output %q must be of type %s, and its value is %s", pair.Key.Text, keys.Type, expr.Kind(tree)))
		return nil, false
	}
	return tree, true
}
