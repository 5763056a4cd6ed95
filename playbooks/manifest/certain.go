package manifest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// maxVariants bounds how often one resource is validated while it is loaded.
const maxVariants = 256

// checkProperties holds the properties against the type, as far as those that
// are open allow: what is wrong whatever they come to is reported now, the rest
// is found per host.
func (l *loader) checkProperties(r *Resource) {
	before := len(l.errs)
	l.decode(r.Properties.Node, r.Type.New(), l.open(r.Properties))
	l.checkTexts(r)
	j := judge{Resource: r, broken: broken(r.Properties.Node, l.errs[before:])}
	maps.Copy(j.broken, l.guessed)
	for _, pe := range j.certain() {
		l.add(Positioned(r, r.Properties.Node, pe))
	}
	l.checkPlayFiles(r)
}

// open leaves alone what is not known yet.
func (l *loader) open(v Value) yamlpos.Option {
	return yamlpos.Open(func(n *yamlpos.Node) bool { return v.Open(n) || l.guessed[n] })
}

// checkTexts holds literal texts against their enum and pattern tags, one by one.
func (l *loader) checkTexts(r *Resource) {
	for _, f := range modules.Fields(r.Type.New()) {
		node := propertyNode(r.Type, r.Properties.Node, f.Name)
		if node == nil {
			continue
		}
		check := func(path string, n *yamlpos.Node) {
			if n.Kind != yamlpos.Scalar || n.Value == nil || n.Text == "" || r.Properties.Open(n) {
				return
			}
			if err := f.CheckText(path, n.Text); err != nil {
				l.add(Positioned(r, r.Properties.Node, err))
			}
		}
		switch {
		case f.Type.Kind() == reflect.String:
			check(f.Name, node)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String:
			for i, item := range node.Items {
				check(fmt.Sprintf("%s[%d]", f.Name, i), item)
			}
		}
	}
}

// broken finds the nodes that are reported already: nothing follows from them.
func broken(n *yamlpos.Node, errs yamlpos.Errors) map[*yamlpos.Node]bool {
	found := map[*yamlpos.Node]bool{}
	var walk func(*yamlpos.Node)
	walk = func(n *yamlpos.Node) {
		if slices.ContainsFunc(errs, func(e *yamlpos.Error) bool { return e.Line == n.Line && e.Column == n.Column }) {
			found[n] = true
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	for _, pair := range n.Pairs {
		walk(pair.Value)
	}
	return found
}

// A judge validates a resource of which not everything is known yet. An error is
// certain if it is the same for every variant of what is open: each value of an
// enum, true and false, or there and not there. So a type's verdict about one
// property may depend on another's presence, enum or boolean; if it depends on
// more, it must say so about both properties.
type judge struct {
	*Resource
	broken map[*yamlpos.Node]bool
}

func (j judge) open(n *yamlpos.Node) bool { return j.Properties.Open(n) || j.broken[n] }

// certain gives the errors that no variant is without.
func (j judge) certain() []*modules.PropertyError {
	axes := j.axes()
	count := 1
	for _, a := range axes {
		if count *= len(a.samples); count > maxVariants {
			return nil
		}
	}
	var common []*modules.PropertyError
	for i := range count {
		found := j.validate(pick(axes, i))
		if i == 0 {
			common = slices.DeleteFunc(found, func(pe *modules.PropertyError) bool { return j.isOpen(pe.Path) })
		} else {
			common = slices.DeleteFunc(common, func(pe *modules.PropertyError) bool {
				return !slices.ContainsFunc(found, func(other *modules.PropertyError) bool { return reflect.DeepEqual(pe, other) })
			})
		}
		if len(common) == 0 {
			return nil
		}
	}
	return common
}

// isOpen reports whether an error is about something that is open itself.
func (j judge) isOpen(path string) bool {
	property, _ := pathParts(path)
	if property == "name" {
		return j.Name.HasExpressions()
	}
	node := propertyNode(j.Type, j.Properties.Node, property)
	if node == nil {
		return false
	}
	if _, index := pathParts(path); index >= 0 && j.openBelow(find(j.Resource, j.Properties.Node, path)) {
		return true
	}
	return j.open(node)
}

// openBelow reports whether an element, or any part of it, is not known yet.
func (j judge) openBelow(n *yamlpos.Node) bool {
	return j.open(n) || slices.ContainsFunc(n.Items, j.openBelow) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return j.open(p.Key) || j.openBelow(p.Value) })
}

// A variant is what the open properties could be; nil is not given.
type variant map[string]any

// An axis is an open property, and what it could be.
type axis struct {
	property string
	samples  []any
}

func (j judge) axes() []axis {
	var axes []axis
	for _, f := range modules.Fields(j.Type.New()) {
		node := propertyNode(j.Type, j.Properties.Node, f.Name)
		if f.Name == "name" && j.Name.HasExpressions() || f.Name != "name" && node != nil && j.open(node) {
			axes = append(axes, axis{f.Name, samples(f)})
		}
	}
	return axes
}

// pick gives the i-th of all combinations.
func pick(axes []axis, i int) variant {
	v := make(variant, len(axes))
	for _, a := range axes {
		v[a.property] = a.samples[i%len(a.samples)]
		i /= len(a.samples)
	}
	return v
}

// samples are values that stand for all that a property can be.
func samples(f modules.Field) []any {
	list := []any{nil}
	switch kind := f.Type.Kind(); {
	case len(f.Enum) > 0:
		for _, value := range f.Enum {
			list = append(list, value)
		}
	case kind == reflect.Bool:
		list = append(list, true)
	case kind == reflect.Int, kind == reflect.Int64:
		list = append(list, 1)
	case kind == reflect.Slice && f.Type.Elem().Kind() == reflect.String:
		list = append(list, []any{"x"}) // what is said of the element itself does not count
	case kind == reflect.Slice, kind == reflect.Map:
	default:
		list = append(list, "x")
	}
	return list
}

// validate gives what is wrong with one variant.
func (j judge) validate(v variant) []*modules.PropertyError {
	props := *j.Properties.Node
	props.Pairs = nil
	for _, pair := range j.Properties.Node.Pairs {
		name := canonical(j.Type, pair.Key.Text)
		value, isOpen := v[name]
		switch {
		case !isOpen:
			props.Pairs = append(props.Pairs, pair)
		case value != nil:
			props.Pairs = append(props.Pairs, yamlpos.Pair{Key: pair.Key, Value: yamlpos.From(pair.Value, value)})
		}
	}
	res := j.Type.New()
	// What does not fit has been reported, and counts as open.
	_ = yamlpos.Decode(&props, res, yamlpos.Open(j.open))
	modules.SetName(res, j.Name.Node.Text)
	if name, isOpen := v["name"]; isOpen {
		text, _ := name.(string)
		modules.SetName(res, text)
	}
	modules.SetDefaults(res)
	return modules.PropertyErrors(errors.Join(modules.CheckTags(res), res.Validate()))
}
