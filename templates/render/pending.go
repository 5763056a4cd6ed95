package render

import (
	"slices"
	"strings"
)

// A Pending is a value of the data that is evaluated when it is first read. Its result may contain others.
type Pending interface {
	Settle(r *Run) (any, error)
}

// A Settling is where the evaluation of the data of one host is.
type Settling struct {
	Stack  []Pending // each needs the next one
	Weight int       // size of all evaluated values, about bytes
	Most   int       // limit of Weight
	Grown  string    // name of the values in the error about the limit
	// Results has the results of resources, for the values that can read them; nil means none.
	Results *Lazy
}

// Root returns the value of a root, completely evaluated.
func (r *Run) Root(name string) (any, error) {
	value, err := r.Env.Need(name)
	if err != nil || name != DataRoot {
		return value, err
	}
	return r.settled(value, true)
}

// settled returns a value of the data, evaluated if it is pending; with whole, its elements are evaluated too.
func (r *Run) settled(v any, whole bool) (any, error) {
	if r.Env.Settling == nil {
		return v, nil
	}
	for {
		p, pending := v.(Pending)
		if !pending {
			break
		}
		var err error
		if v, err = p.Settle(r); err != nil {
			return nil, err
		}
	}
	if !whole {
		return v, nil
	}
	return r.Settled(v)
}

// Settled evaluates all of a value of the data. It is v itself if nothing in it is pending.
func (r *Run) Settled(v any) (any, error) {
	if err := r.Step(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Pending:
		return r.settled(v, true)
	case map[string]any:
		if !hasPending(v) {
			return v, nil
		}
		m := make(map[string]any, len(v))
		for _, key := range SortedKeys(v) {
			var err error
			if m[key], err = r.Settled(v[key]); err != nil {
				return nil, err
			}
		}
		return m, nil
	case []any:
		if !hasPending(v) {
			return v, nil
		}
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = r.Settled(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}

func hasPending(v any) bool {
	switch v := v.(type) {
	case Pending:
		return true
	case map[string]any:
		for _, value := range v {
			if hasPending(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasPending)
	}
	return false
}

// part returns the data with only the values at paths, evaluated: for code that reads values in its own way, templates
// and queries. all returns the whole data.
func (r *Run) part(paths []string, all bool) (map[string]any, error) {
	if all {
		data, err := r.Settled(r.Env.Data)
		if err != nil {
			return nil, err
		}
		return data.(map[string]any), nil
	}
	data := map[string]any{}
	var taken []string
	for _, path := range distinct(paths) {
		if slices.ContainsFunc(taken, func(above string) bool { return strings.HasPrefix(path, above+".") }) {
			continue
		}
		end, err := r.take(data, strings.Split(path, "."))
		if err != nil {
			return nil, err
		}
		taken = append(taken, end)
	}
	return data, nil
}

// take copies the value at keys into a map, at the same keys. It returns the path of the copied value; this is shorter
// than keys if a value on the way is not a map.
func (r *Run) take(into map[string]any, keys []string) (path string, err error) {
	from := r.Env.Data
	for i, key := range keys {
		value, found := from[key]
		if !found {
			break
		}
		if value, err = r.settled(value, false); err != nil {
			return "", err
		}
		below, isMap := value.(map[string]any)
		if !isMap || i == len(keys)-1 {
			into[key], err = r.Settled(value)
			return strings.Join(keys[:i+1], "."), err
		}
		inner, _ := into[key].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			into[key] = inner
		}
		from, into = below, inner
	}
	return strings.Join(keys, "."), nil
}

// Seeing returns the environment of a value of the data that is being evaluated: with or without the results of resources
// and, unless item is nil, with its Item and Outer.
func (e *Env) Seeing(results bool, item *Env) *Env {
	all := e.Settling.Results
	same := all == nil || e.Inventory.Results != nil == results
	if same && item == nil {
		return e
	}
	seen := e.withData(e.Data)
	seen.Settling, seen.Order = e.Settling, e.Order
	if !same {
		inventory := *e.Inventory
		if inventory.Results = nil; results {
			inventory.Results = all
		}
		seen.Inventory = &inventory
	}
	if item != nil {
		seen.Item, seen.HasItem, seen.ItemOrder, seen.Outer, seen.HasOuter = item.Item, item.HasItem, item.ItemOrder, item.Outer, item.HasOuter
	}
	return seen
}

// withData returns an environment of evaluated data, with the other values that data can read.
func (e *Env) withData(data map[string]any) *Env {
	return &Env{Facts: e.Facts, Data: data, Inventory: e.Inventory, Item: e.Item, HasItem: e.HasItem, ItemOrder: e.ItemOrder, Outer: e.Outer, HasOuter: e.HasOuter}
}

// WithPart restricts the data to the parts that m reads, evaluated, until restore is called.
func (r *Run) WithPart(m *Reads) (restore func(), err error) {
	total := m.Follow(nil)
	data, err := r.part(total.data, total.allData)
	if err != nil {
		return nil, err
	}
	whole := r.Env
	r.Env = whole.withData(data)
	r.Env.Order = whole.Order
	return func() { r.Env = whole }, nil
}

// find works like [Env.Lookup], also in data that is not evaluated yet.
func (r *Run) find(path string) (value any, found bool, err error) {
	if r.Env.Settling == nil {
		return r.Env.Lookup(path)
	}
	part := r.Env.withData(map[string]any{})
	switch root, keys, known := LookupPath(path); {
	case !known, root == DataRoot && len(keys) == 0:
		part.Data, err = r.part(nil, true)
	case root == DataRoot:
		part.Data, err = r.part([]string{strings.Join(keys, ".")}, false)
	}
	if err != nil {
		return nil, false, err
	}
	return part.Lookup(path)
}

// WithoutFiles is Inputs, without the files of a play: data has none.
func (m *Reads) WithoutFiles() Inputs {
	total := m.Follow(nil)
	total.Calls = nil
	return total.Inputs(nil)
}
