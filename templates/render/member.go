package render

import (
	"reflect"
	"strings"

	"github.com/expr-lang/expr/vm/runtime"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Access is the treatment of a missing key in an access.
type Access int

const (
	Strict   Access = iota // an error
	Optional               // `?.`: no value, also for the rest of the chain
	Fallback               // left of `??`: nothing, all along the chain
	Compared               // next to `== nil`: nil, if the last key of the chain is missing in a map

	// Inner is set for a step within a chain: no more is read than the next key.
	Inner Access = 1 << 4
)

type absentValue struct{}

// Absent stands for a missing key within a chain of optional accesses. It never leaves
// the chain.
var Absent any = absentValue{}

// Member returns container[key]. path is the source text of the value, for the error.
func (r *Run) Member(container, key any, how Access, path string) (any, error) {
	value, err := r.lookIn(container, key, path)
	value, unusable := used(value)
	if unusable != nil {
		return nil, unusable
	}
	switch {
	case err == nil:
		return r.settled(value, how&Inner == 0)
	case how == Compared:
		_, inMap := container.(map[string]any)
		if _, named := key.(string); inMap && named {
			return nil, nil
		}
		return nil, err
	case how&^Inner != Strict:
		return Absent, nil
	case r.Lenient:
		return nil, nil
	}
	return nil, err
}

func (r *Run) lookIn(container, key any, path string) (any, error) {
	switch c := container.(type) {
	case absentValue:
		return Absent, nil
	case nil:
		return nil, diag.Faultf("%s: its parent is nil", path).WithHint("%s", DefaultHint(path))
	case map[string]any:
		return r.mapElement(c, key, path)
	case string:
		return nil, diag.Faultf("%s: a string has no keys", path)
	}
	if IsList(container) {
		return listElement(container, key, path)
	}
	return otherElement(container, key, path)
}

func (r *Run) mapElement(m map[string]any, key any, path string) (any, error) {
	name, ok := key.(string)
	if !ok {
		return nil, diag.Faultf("%s: the key of a map must be a string, not %s", path, KindName(key))
	}
	value, ok := r.Env.Key(m, name)
	if !ok {
		hint := DefaultHint(path)
		if elsewhere := diag.AnsibleVariable(name); elsewhere != "" {
			hint = elsewhere
		} else if there := DescribeKeys(parentOf(path, name), m, name); there != "" {
			hint = joined(there, hint)
		}
		return nil, diag.Faultf("missing key %q", path).WithHint("%s", hint)
	}
	return value, nil
}

func listElement(list, key any, path string) (any, error) {
	i, ok := ListIndex(key)
	if !ok {
		return nil, diag.Faultf("%s: the index of a list must be an integer, not %s", path, KindName(key))
	}
	rv := reflect.ValueOf(list)
	if i < 0 {
		i += rv.Len() // -1 is the last one
	}
	if i < 0 || i >= rv.Len() {
		return nil, diag.Faultf("%s: the list has only %d elements", path, rv.Len()).WithHint("%s", DefaultHint(path))
	}
	return rv.Index(i).Interface(), nil
}

// otherElement reads what the functions of the expression language give: maps
// of groupBy, methods of times.
func otherElement(container, key any, path string) (value any, err error) {
	defer func() {
		if recover() != nil {
			err = diag.Faultf("%s: %s has no such key", path, KindName(container))
		}
	}()
	return runtime.Fetch(container, key), nil
}

// parentOf returns the path of the map that has no key name, for a hint.
func parentOf(path, name string) string {
	if parent, ok := strings.CutSuffix(path, "."+name); ok && parent != "" {
		return parent
	}
	return "it"
}

// joined returns two hints as one.
func joined(first, second string) string {
	if strings.HasSuffix(first, "?") {
		return first + " " + second
	}
	return first + "; " + second
}

// DefaultHint returns the hint that shows a default for the value at path.
func DefaultHint(path string) string {
	return "if the key may be missing, write " + path + " ?? DEFAULT"
}
