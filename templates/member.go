package templates

import (
	"reflect"
	"strconv"

	"github.com/expr-lang/expr/vm/runtime"
)

// How an access to a key treats a key that is not there.
type access int

const (
	strict   access = iota // an error
	optional               // `?.`: nothing, and nothing for what follows in the chain
	fallback               // left of `??`: nothing, all along the chain
)

// absent is what an optional access gives within a chain. It never leaves it.
type absentValue struct{}

var absent any = absentValue{}

// member is container[key]. path is how the source calls it, for the error.
func (r *run) member(container, key any, how access, path string) (any, error) {
	value, err := lookIn(container, key, path)
	switch {
	case err == nil:
		return value, nil
	case how != strict:
		return absent, nil
	case r.env.lenient:
		return nil, nil
	}
	return nil, err
}

func lookIn(container, key any, path string) (any, error) {
	switch c := container.(type) {
	case absentValue:
		return absent, nil
	case nil:
		return nil, faultf("%s: there is nothing to read it from (nil)", path).withHint("%s", defaultHint(path))
	case map[string]any:
		return mapElement(c, key, path)
	case string:
		return nil, faultf("%s: a string has no keys", path)
	}
	if isList(container) {
		return listElement(container, key, path)
	}
	return otherElement(container, key, path)
}

func mapElement(m map[string]any, key any, path string) (any, error) {
	name, ok := key.(string)
	if !ok {
		return nil, faultf("%s: the key of a map must be a string, not %s", path, kindOf(key))
	}
	value, ok := m[name]
	if !ok {
		hint := defaultHint(path)
		if there := describe("it", m, name); there != "" {
			hint = there + "; " + hint
		}
		return nil, faultf("missing key %q", path).withHint("%s", hint)
	}
	return value, nil
}

func isList(v any) bool {
	if _, ok := v.([]any); ok {
		return true
	}
	kind := reflect.TypeOf(v).Kind()
	return kind == reflect.Slice || kind == reflect.Array
}

func listElement(list, key any, path string) (any, error) {
	i, ok := index(key)
	if !ok {
		return nil, faultf("%s: the index of a list must be an integer, not %s", path, kindOf(key))
	}
	rv := reflect.ValueOf(list)
	if i < 0 {
		i += rv.Len() // -1 is the last one
	}
	if i < 0 || i >= rv.Len() {
		return nil, faultf("%s: the list has only %d elements", path, rv.Len()).withHint("%s", defaultHint(path))
	}
	return rv.Index(i).Interface(), nil
}

func index(key any) (int, bool) {
	if s, ok := key.(string); ok {
		i, err := strconv.ParseUint(s, 10, 31) // Data.list.0
		return int(i), err == nil
	}
	if key == nil {
		return 0, false
	}
	switch rv := reflect.ValueOf(key); {
	case rv.CanInt():
		return int(rv.Int()), true
	case rv.CanUint():
		return int(rv.Uint()), true
	case rv.CanFloat() && rv.Float() == float64(int(rv.Float())):
		return int(rv.Float()), true
	}
	return 0, false
}

// otherElement reads what the functions of the expression language give: maps
// of groupBy, methods of times.
func otherElement(container, key any, path string) (value any, err error) {
	defer func() {
		if recover() != nil {
			err = faultf("%s: %s has no such key", path, kindOf(container))
		}
	}()
	return runtime.Fetch(container, key), nil
}

func defaultHint(path string) string { return "give a default with " + path + " ?? …" }
