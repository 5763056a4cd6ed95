package expression

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// mapFunction replaces a function of the language that makes a list of a map, in
// any order, by one that goes by the keys: a content must not differ from run to
// run.
func mapFunction(name string, element func(key, value reflect.Value) any) *builtin.Function {
	return &builtin.Function{
		Name:     name,
		Validate: builtin.Builtins[builtin.Index[name]].Validate,
		Func: func(args ...any) (any, error) {
			m := reflect.ValueOf(args[0])
			if m.Kind() != reflect.Map {
				return nil, diag.Faultf("%s: needs a map, not %s", name, render.KindName(args[0]))
			}
			keys := m.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return compareKeys(a.Interface(), b.Interface()) })
			list := make([]any, len(keys))
			for i, key := range keys {
				list[i] = element(key, m.MapIndex(key))
			}
			return list, nil
		},
	}
}

func pairOf(key, value reflect.Value) any    { return []any{key.Interface(), value.Interface()} }
func keyOf(key, _ reflect.Value) any         { return key.Interface() }
func elementOf(_, element reflect.Value) any { return element.Interface() }

// compareKeys orders keys that are not always texts: those of groupBy are what it
// groups by.
func compareKeys(a, b any) int {
	if x, y := reflect.ValueOf(a), reflect.ValueOf(b); x.CanInt() && y.CanInt() {
		return cmp.Compare(x.Int(), y.Int())
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
