package dsc

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// A draft is an instance under way.
type draft struct {
	Instance
	scope     *scope
	body      *yamlpos.Node
	loop      *loop       // nil outside copy
	condition expr.Result // see holds
	within    []*draft    // contents of a group; the group itself is not an instance
	isGroup   bool
	around    []*draft // groups that contain it
	needs     map[*draft]*yamlpos.Node
	order     []*draft // of needs
	number    int

	hasCondition bool
}

// A loop is one pass of copy.
type loop struct {
	name   string
	i      int64
	around *loop
}

// index returns copyIndex() of a loop; nil outside of one.
func (l *loop) index() func(string) (int64, error) {
	if l == nil {
		return nil
	}
	return func(name string) (int64, error) {
		var known []string
		for at := l; at != nil; at = at.around {
			if name == "" || name == at.name {
				return at.i, nil
			}
			known = append(known, at.name)
		}
		return 0, unknown("loop", name, known, `copyIndex() takes the name of "copy"`)
	}
}

// Resources that the reader replaces by their contents.
const (
	groupType     = "microsoft.dsc/group"
	assertionType = "microsoft.dsc/assertion"
	includeType   = "microsoft.dsc/include"
)

// Limits of a document with all included ones.
const (
	maxCopies    = 10_000
	maxInstances = 100_000
)

// resource reads an entry of resources, with its copies.
func (s *scope) resource(ctx context.Context, n *yamlpos.Node) {
	if n.Kind != yamlpos.Map {
		s.add(n.Errorf("write name: ..., type: Owner/Thing, properties: {...}", "a resource must be a map, not %s", n.Describe()))
		return
	}
	var keys instanceKeys
	s.add(yamlpos.Decode(n, &keys))
	if n.Get("resources") != nil { // which decoding has reported
		return
	}
	c := n.Get("copy")
	if c.IsNull() {
		s.instance(ctx, n, s.loop)
		return
	}
	name, count, ok := s.copies(ctx, c)
	if !ok {
		return
	}
	for i := range count {
		if before := len(s.errs); s.instance(ctx, n, &loop{name, i, s.loop}) && len(s.errs) > before {
			return // the others would only repeat that
		}
	}
}

// copies reads copy.
func (s *scope) copies(ctx context.Context, n *yamlpos.Node) (name string, count int64, ok bool) {
	var keys copyKeys
	before := len(s.errs)
	if n.Kind != yamlpos.Map {
		s.add(n.Errorf("write copy: {name: loop, count: 3}", `"copy" must be a map, not %s`, n.Describe()))
		return "", 0, false
	}
	s.add(yamlpos.Decode(n, &keys))
	for _, key := range []string{"mode", "batchSize"} {
		if at := n.Get(key); at != nil {
			s.add(at.Errorf("remove it", `"copy" has no %q outside of Azure`, key))
		}
	}
	at := n.Get("count")
	if keys.Name == "" || at == nil {
		s.add(n.Errorf("write copy: {name: loop, count: 3}", `"copy" needs "name" and "count"`))
		return "", 0, false
	}
	value, err := s.build(ctx, at, s.exprNames(ctx, s.loop, nil))
	switch {
	case err != nil:
		s.add(err)
		return "", 0, false
	case expr.HasResiduals(value) || expr.IsSecure(value):
		s.add(at.Errorf("", `"count" of "copy" must be known without a host, and not be secure`))
		return "", 0, false
	}
	count, isInt := value.(int64)
	if !isInt || count < 0 || count > maxCopies {
		s.add(at.Errorf("", `"count" of "copy" must be an integer from 0 to %d`, maxCopies))
		return "", 0, false
	}
	return keys.Name, count, len(s.errs) == before
}

// instance reads one resource, or one pass of its copy. It reports whether it went
// as far as its name.
func (s *scope) instance(ctx context.Context, n *yamlpos.Node, l *loop) bool {
	if len(s.instances) >= maxInstances {
		s.add(n.Errorf("", "the document has more than %d resources", maxInstances))
		return true
	}
	names := s.exprNames(ctx, l, nil)
	name, typeName := s.named(ctx, n, names)
	if name == "" || typeName == "" {
		return true
	}
	d := &draft{scope: s, body: n, loop: l, needs: map[*draft]*yamlpos.Node{}, number: -1}
	d.Type, d.Name, d.Node = typeName, name, n.Get("name")
	d.around = s.groups
	id := resourceID(typeName, name)
	if len(s.byID[id]) > 0 {
		hint := ""
		if l != nil {
			hint = "use copyIndex() in the name: \"[format('" + name + "-{0}', copyIndex())]\""
		}
		s.add(d.Node.Errorf(hint, "there are two resources %s of type %s", strconv.Quote(name), typeName))
		return true
	}
	s.byID[id] = append(s.byID[id], d)
	switch strings.ToLower(typeName) {
	case groupType, assertionType, includeType:
		d.isGroup = true
		s.group(ctx, d, strings.ToLower(typeName))
	default:
		s.single(ctx, d)
	}
	return true
}

func resourceID(typeName, name string) string {
	return strings.ToLower(typeName) + ":" + strings.TrimPrefix(expr.ResourceID("", name), ":")
}

// named reads the name and the type; "" are reported.
func (s *scope) named(ctx context.Context, n *yamlpos.Node, names *expr.Names) (name, typeName string) {
	for _, part := range []struct {
		key  string
		into *string
	}{{"name", &name}, {"type", &typeName}} {
		at := n.Get(part.key)
		if at == nil {
			s.add(n.Errorf("", "the resource has no %q", part.key))
			continue
		}
		text, ok := s.text(ctx, at, "the "+part.key+" of a resource", names)
		if ok && text == "" {
			s.add(at.Errorf("", "%q of a resource is empty", part.key))
		}
		*part.into = text
	}
	return name, typeName
}

// holds returns the condition of a resource, joined with the conditions of its groups. It is evaluated when all
// resources are known.
func (d *draft) holds(ctx context.Context) expr.Result {
	if d.hasCondition {
		return d.condition
	}
	d.hasCondition, d.condition = true, expr.Known(true)
	if len(d.around) > 0 {
		d.condition = d.around[len(d.around)-1].holds(ctx)
	}
	at := d.body.Get("condition")
	if d.Output || at.IsNull() {
		return d.condition
	}
	d.condition = expr.And(d.condition, d.ownCondition(ctx, at))
	return d.condition
}

// ownCondition evaluates a condition. An invalid one is reported, and counts as true.
func (d *draft) ownCondition(ctx context.Context, at *yamlpos.Node) expr.Result {
	s := d.scope
	if !isExpression(at) {
		if _, ok := at.Value.(bool); !ok || at.Kind != yamlpos.Scalar {
			s.add(at.Errorf("write an expression: \"[equals(parameters('x'), 'y')]\"", `"condition" must be an expression, not %s`, at.Describe()))
			return expr.Known(true)
		}
		return expr.Known(at.Value)
	}
	p, err := s.expression(ctx, at, s.exprNames(ctx, d.loop, d.resourceRef(at)))
	if err != nil {
		s.add(err)
		return expr.Known(true)
	}
	if _, known := p.Value(); known || p.IsSecure() {
		if _, err := p.Bool("condition"); err != nil {
			s.add(at.Errorf("", "%v", err))
			return expr.Known(true)
		}
	}
	return p
}

// single adds an instance, under a name that no other has.
func (s *scope) single(ctx context.Context, d *draft) {
	d.Entry = d.Type
	if s.opts.Type != nil {
		entry, builtIn, hint, ok := s.opts.Type(d.Type)
		if d.Entry, d.BuiltIn = entry, builtIn; !ok {
			s.add(d.body.Get("type").Errorf(hint, "unknown resource type %q", d.Type))
		}
	}
	base := d.Name
	for n := 1; s.byRef[d.Ref()] != nil; n++ {
		d.Name = s.prefix + base
		if n > 1 {
			d.Name = fmt.Sprintf("%s%s (%d)", s.prefix, base, n)
		}
	}
	s.byRef[d.Ref()] = &d.Instance
	d.number = len(s.instances)
	d.Assert = s.assert
	s.instances = append(s.instances, d)
	for _, g := range d.around {
		g.within = append(g.within, d)
	}
	s.details(ctx, d)
}

// details reads the other keys of a resource than its properties.
func (s *scope) details(ctx context.Context, d *draft) {
	names := s.exprNames(ctx, d.loop, nil)
	for _, key := range []string{"requireVersion", "apiVersion"} {
		if at := d.body.Get(key); at != nil {
			d.Version, _ = s.text(ctx, at, key, names)
		}
	}
	if at := member(d.body, "directives", "requireAdapter"); at != nil {
		d.Adapter, _ = s.text(ctx, at, "requireAdapter", names)
	}
	at := member(d.body, "directives", "securityContext")
	if at == nil {
		at = member(d.body, "metadata", "Microsoft.DSC", "securityContext")
	}
	d.Security = s.securityOf(at, s.security)
	metadata := d.body.Get("metadata")
	switch {
	case metadata.IsNull():
		return
	case metadata.Kind != yamlpos.Map:
		s.add(metadata.Errorf("", `"metadata" must be a map, not %s`, metadata.Describe()))
		return
	}
	tree, err := s.build(ctx, metadata, names)
	s.add(err)
	if expr.HasResiduals(tree) || expr.IsSecure(tree) {
		s.add(metadata.Errorf("", `"metadata" must be known without a host, and not be secure`))
		return
	}
	if m, ok := tree.(map[string]any); ok {
		delete(m, "Microsoft.DSC")
		if len(m) > 0 {
			d.Metadata = m
		}
	}
}
