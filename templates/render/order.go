package render

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// A KeyOrder returns the keys of the map at a path, of keys and indexes of lists, in the order of their source. Keys that
// it does not return follow them, sorted.
type KeyOrder func(path []string) []string

// An Order has the order of the keys of a value and of the values in it. nil is sorted.
type Order struct {
	keys  []string // nil for a list
	below map[string]*Order
	found func() *Order // finds the order when it is needed; else nil
}

// known returns the order with its keys.
func (o *Order) known() *Order {
	if o == nil || o.found == nil {
		return o
	}
	return o.found()
}

// Add adds a key, after the others.
func (o *Order) Add(key string) { o.keys = append(o.keys, key) }

// Set sets the order of the value at a key or an index.
func (o *Order) Set(key string, below *Order) {
	if below == nil {
		return
	}
	if o.below == nil {
		o.below = map[string]*Order{}
	}
	o.below[key] = below
}

// orNil is nil if all keys are sorted.
func (o *Order) orNil() *Order {
	if o.below == nil && slices.IsSorted(o.keys) {
		return nil
	}
	return o
}

// At returns the order of the value at a key or an index.
func (o *Order) At(key string) *Order {
	if o = o.known(); o == nil {
		return nil
	}
	return o.below[key]
}

// OrderedKeys returns all keys of m, with the keys of order first.
func OrderedKeys(m map[string]any, order []string) []string {
	if len(order) == 0 {
		return SortedKeys(m)
	}
	keys, seen := make([]string, 0, len(m)), make(map[string]bool, len(m))
	for _, key := range slices.Concat(order, SortedKeys(m)) {
		if _, there := m[key]; there && !seen[key] {
			keys, seen[key] = append(keys, key), true
		}
	}
	return keys
}

// Keys is a [KeyOrder].
func (o *Order) Keys(path []string) []string {
	for _, key := range path {
		o = o.At(key)
	}
	if o = o.known(); o == nil {
		return nil
	}
	return o.keys
}

// OrderOf returns the order of the result of an expression, as far as its parts are values of the data or of an item. path is
// the path in the data that the expression names, or nil.
func OrderOf(e *Env, result any, path []string) *Order {
	if e.Order == nil && e.ItemOrder == nil || !hasKeys(result) {
		return nil
	}
	// Most orders are never read, and the data can be large.
	return &Order{found: sync.OnceValue(func() *Order {
		l := &locator{e, map[uintptr]place{}}
		if path != nil {
			return l.at(result, DataRoot, path)
		}
		l.index(e.Item, place{ItemRoot, nil})
		l.index(e.Data, place{DataRoot, nil})
		return l.in(result)
	})}
}

// hasKeys reports whether a value has a map of several keys.
func hasKeys(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 1 || slices.ContainsFunc(slices.Collect(maps.Values(v)), hasKeys)
	case []any:
		return slices.ContainsFunc(v, hasKeys)
	}
	return false
}

// A place is a path below a root.
type place struct {
	root string
	path []string
}

func (p place) below(key string) place { return place{p.root, append(slices.Clip(p.path), key)} }

// A locator finds the places of maps.
type locator struct {
	env   *Env
	known map[uintptr]place // places, by address of the map
}

// index notes where the maps are that are part of a value.
func (l *locator) index(v any, at place) {
	if p, is := v.(interface{ Result() (any, bool) }); is {
		v, _ = p.Result()
	}
	switch v := v.(type) {
	case map[string]any:
		l.known[reflect.ValueOf(v).Pointer()] = at
		for key, value := range v {
			l.index(value, at.below(key))
		}
	case []any:
		for i, value := range v {
			if isContainer(value) {
				l.index(value, at.below(strconv.Itoa(i)))
			}
		}
	}
}

// in returns the order of a value that may contain known maps.
func (l *locator) in(v any) *Order {
	o := &Order{}
	switch v := v.(type) {
	case map[string]any:
		if at, is := l.known[reflect.ValueOf(v).Pointer()]; is {
			return l.at(v, at.root, at.path)
		}
		for key, value := range v {
			o.Set(key, l.in(value))
		}
	case []any:
		for i, value := range v {
			o.Set(strconv.Itoa(i), l.in(value))
		}
	}
	return o.orNil()
}

// at returns the order of the value at a path.
func (l *locator) at(v any, root string, path []string) *Order {
	o := &Order{}
	switch v := v.(type) {
	case map[string]any:
		o.keys = KeysOf(l.env, v, root, path)
		for key, value := range v {
			o.Set(key, l.at(value, root, append(slices.Clip(path), key)))
		}
	case []any:
		for i, value := range v {
			if isContainer(value) {
				o.Set(strconv.Itoa(i), l.at(value, root, append(slices.Clip(path), strconv.Itoa(i))))
			}
		}
	}
	return o.orNil()
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// KeysOf returns the keys of a map below a root in their order. The path is unknown if root is "".
func KeysOf(e *Env, m map[string]any, root string, path []string) []string {
	var order []string
	switch {
	case len(m) < 2 || root == DataRoot && len(path) == 0:
	case root == DataRoot && e.Order != nil:
		order = e.Order(path)
	case root == ItemRoot && e.ItemOrder != nil:
		order = e.ItemOrder(path)
	}
	return OrderedKeys(m, order)
}

// WithData returns an environment with other data.
func WithData(e *Env, data map[string]any, order KeyOrder) *Env {
	return &Env{
		Facts: e.Facts, Data: data, Environ: e.Environ, Files: e.Files, Inventory: e.Inventory, Order: order,
		Item: e.Item, HasItem: e.HasItem, ItemOrder: e.ItemOrder, Outer: e.Outer, HasOuter: e.HasOuter,
	}
}

// WithItem returns the environment of an element of an each.
func WithItem(e *Env, item any, order KeyOrder) *Env {
	inner := WithData(e, e.Data, e.Order)
	inner.Item, inner.HasItem, inner.ItemOrder = item, true, order
	inner.Outer, inner.HasOuter = e.Item, e.HasItem
	return inner
}
