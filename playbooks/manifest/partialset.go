package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// maxVariants bounds how often one resource is validated while it is loaded.
const maxVariants = 256

// A PartialSet is a property set in which some values are not known yet. An error is certain if it is the same for
// every variant of the open values: each value of an enum, true and false, or present and absent. So a type's error
// about one property may depend on another's presence, enum or boolean. If it depends on more, the type must report the
// error for both properties.
type PartialSet struct {
	PropertySet
	NameOpen bool                     // the name is not known
	Open     func(*yamlpos.Node) bool // reports whether something in the map is not known
}

// Certain returns the errors that every variant has.
func (p PartialSet) Certain() []*modules.PropertyError {
	axes := p.axes()
	count := 1
	for _, a := range axes {
		if count *= len(a.samples); count > maxVariants {
			return nil
		}
	}
	var common []*modules.PropertyError
	for i := range count {
		found := p.validate(pick(axes, i))
		if i == 0 {
			common = slices.DeleteFunc(found, func(pe *modules.PropertyError) bool { return p.isOpen(pe.Path) })
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
func (p PartialSet) isOpen(path string) bool {
	property, _ := pathParts(path)
	if property == "name" {
		return p.NameOpen
	}
	node := p.Get(property)
	if node == nil {
		return false
	}
	if _, index := pathParts(path); index >= 0 && p.openBelow(p.At(path)) {
		return true
	}
	return p.Open(node)
}

// openBelow reports whether an element, or any part of it, is not known yet.
func (p PartialSet) openBelow(n *yamlpos.Node) bool {
	return p.Open(n) || slices.ContainsFunc(n.Items, p.openBelow) ||
		slices.ContainsFunc(n.Pairs, func(pair yamlpos.Pair) bool { return p.Open(pair.Key) || p.openBelow(pair.Value) })
}

// A variant has one possible value for each open property; nil means not set.
type variant map[string]any

// An axis is an open property with its possible values.
type axis struct {
	property string
	samples  []any
}

func (p PartialSet) axes() []axis {
	var axes []axis
	for _, f := range modules.Fields(p.Type.New()) {
		node := p.Get(f.Name)
		if f.Name == "name" && p.NameOpen || f.Name != "name" && node != nil && p.Open(node) {
			axes = append(axes, axis{f.Name, samples(f)})
		}
	}
	return axes
}

// pick returns combination number i of all combinations.
func pick(axes []axis, i int) variant {
	of := make(variant, len(axes))
	for _, a := range axes {
		of[a.property] = a.samples[i%len(a.samples)]
		i /= len(a.samples)
	}
	return of
}

// samples returns values that represent everything that a property can be.
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
		list = append(list, []any{"x"}) // errors about the element itself do not count
	case kind == reflect.Slice, kind == reflect.Map:
	default:
		list = append(list, "x")
	}
	return list
}

// validate returns the errors of one variant.
func (p PartialSet) validate(of variant) []*modules.PropertyError {
	props := *p.Node
	props.Pairs = nil
	for _, pair := range p.Node.Pairs {
		name := CanonicalProperty(p.Type, pair.Key.Text)
		value, isOpen := of[name]
		switch {
		case !isOpen:
			props.Pairs = append(props.Pairs, pair)
		case value != nil:
			props.Pairs = append(props.Pairs, yamlpos.Pair{Key: pair.Key, Value: yamlpos.From(pair.Value, value)})
		}
	}
	res := p.Type.New()
	// Decoding errors have been reported; such values count as open.
	_ = yamlpos.Decode(&props, res, yamlpos.Open(p.Open))
	modules.SetName(res, p.Name.Text)
	if name, isOpen := of["name"]; isOpen {
		text, _ := name.(string)
		modules.SetName(res, text)
	}
	modules.SetDefaults(res)
	return modules.PropertyErrors(errors.Join(modules.CheckTags(res), res.Validate(), validateStrict(res, p.Strict)))
}

// CheckTexts compares literal texts with their enum and pattern tags, one by one.
func (p PartialSet) CheckTexts() error {
	var errs yamlpos.Errors
	for _, f := range modules.Fields(p.Type.New()) {
		node := p.Get(f.Name)
		if node == nil {
			continue
		}
		check := func(path string, n *yamlpos.Node) {
			if n.Kind != yamlpos.Scalar || n.Value == nil || n.Text == "" || p.Open(n) {
				return
			}
			if err := f.CheckText(path, n.Text); err != nil {
				errs.Add(p.Place(err))
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
	return errs.Err()
}

// WithUnknown returns the properties with these names added as values that are not known yet. unknown holds the added
// values.
func WithUnknown(n *yamlpos.Node, names []string) (with *yamlpos.Node, unknown map[*yamlpos.Node]bool) {
	copied := *n
	copied.Pairs = slices.Clone(n.Pairs)
	unknown = map[*yamlpos.Node]bool{}
	for _, name := range names {
		if strings.Contains(name, ".") {
			continue // in a map of anything, which need not be known
		}
		key := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Text: name, Value: name}
		value := *key
		value.Text, value.Value = "", nil
		copied.Pairs = append(copied.Pairs, yamlpos.Pair{Key: key, Value: &value})
		unknown[&value] = true
	}
	return &copied, unknown
}
