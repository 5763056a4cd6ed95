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

// The functions the rewriter puts into expressions. Their names cannot be
// written there. The first argument of all is the run.
const (
	rootFunction    = "·root"
	baseFunction    = "·base" // a root that keys follow
	memberFunction  = "·member"
	presentFunction = "·present"
	boundedFunction = "·bounded"
	stepFunction    = "·step"
	lookupFunction  = "·lookup"
	searchFunction  = "·search" // a lookup of a path that is computed
	fileFunction    = "·file"
	renderFunction  = "·render"
	jinjaFunction   = "·jinja"
	jsonFunction    = "·toJSON"
	natsFunction    = "·nats"
)

// functionNames returns the functions that expressions have in addition to the expression language.
func functionNames() []string {
	return []string{"lookup", "file", "readFile", "template", "jet", "jinja", "compareVersions", render.KVGetFunction, render.RegistrationsFunction}
}

func isFunction(name string) bool { return slices.Contains(functionNames(), name) }

// functions returns all functions that replace or extend functions of the language.
func functions() []*builtin.Function {
	return []*builtin.Function{
		withRun(rootFunction, func(r *render.Run, args []any) (any, error) { return r.Root(args[0].(string)) }),
		withRun(baseFunction, func(r *render.Run, args []any) (any, error) { return r.Env.Need(args[0].(string)) }),
		withRun(memberFunction, func(r *render.Run, args []any) (any, error) {
			return r.Member(args[0], args[1], render.Access(args[2].(int)), args[3].(string))
		}),
		withRun(presentFunction, presentValue),
		withRun(boundedFunction, boundedValue),
		withRun(stepFunction, func(r *render.Run, _ []any) (any, error) { return nil, r.Step() }),
		withRun(lookupFunction, (*render.Run).Lookup),
		withRun(searchFunction, (*render.Run).LookupComputed),
		withRun(fileFunction, (*render.Run).File),
		withRun(renderFunction, func(r *render.Run, args []any) (any, error) { return args[0].(*render.Call).Render(r) }),
		withRun(jinjaFunction, func(r *render.Run, args []any) (any, error) { return args[0].(render.Value).Settle(r) }),
		textFunction("replace", render.ReplaceText),
		textFunction("join", joinList),
		textFunction("string", func(args []any) (any, error) { return render.TextOf(args[0]) }),
		&builtin.Function{
			Name:     "compareVersions",
			Func:     func(args ...any) (any, error) { return compareVersions(args) },
			Validate: arity("compareVersions"),
		},
		mapFunction("keys", keyOf),
		mapFunction("values", elementOf),
		mapFunction("toPairs", pairOf),
		textFunction("toJSON", nil), // only its name: the rewriter calls the next one
		withRun(natsFunction, func(r *render.Run, args []any) (any, error) { return r.AskNATS(args[0].(string), args[1:]) }),
		withRun(jsonFunction, func(r *render.Run, args []any) (any, error) { return r.JSONText("toJSON", args[0], "  ", false) }),
	}
}

func withRun(name string, fn func(r *render.Run, args []any) (any, error)) *builtin.Function {
	return &builtin.Function{Name: name, Func: func(args ...any) (any, error) {
		return fn(args[0].(*render.Run), args[1:])
	}}
}

// textFunction replaces a function of the language by one whose result is
// bounded.
func textFunction(name string, fn func(args []any) (any, error)) *builtin.Function {
	return &builtin.Function{
		Name:     name,
		Func:     func(args ...any) (any, error) { return fn(args) },
		Validate: arity(name),
	}
}

// arity checks the number of arguments while an expression is parsed.
func arity(name string) func([]reflect.Type) (reflect.Type, error) {
	least, most := 1, 1
	switch name {
	case "replace":
		least, most = 3, 4
	case "join":
		most = 2
	case "compareVersions":
		least, most = 2, 2
	}
	return func(args []reflect.Type) (reflect.Type, error) {
		if len(args) < least || len(args) > most {
			return nil, diag.Faultf("wrong number of arguments for %q", name)
		}
		if name == "compareVersions" {
			return reflect.TypeFor[int](), nil
		}
		return reflect.TypeFor[string](), nil
	}
}

func presentValue(_ *render.Run, args []any) (any, error) {
	if args[0] == render.Absent {
		return nil, nil
	}
	return args[0], nil
}

func boundedValue(r *render.Run, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		return s, r.CheckLength(len(s))
	}
	return args[0], nil
}

// joinList is join(list[, separator]).
func joinList(args []any) (any, error) {
	if args[0] == nil || !render.IsList(args[0]) {
		return nil, diag.Faultf("join: needs a list, not %s", render.KindName(args[0]))
	}
	separator := ""
	if len(args) > 1 {
		s, err := render.StringArgs("join", args[1:])
		if err != nil {
			return nil, err
		}
		separator = s[0]
	}
	var b strings.Builder
	list := reflect.ValueOf(args[0])
	for i := range list.Len() {
		if i > 0 {
			b.WriteString(separator)
		}
		s, err := render.TextOf(list.Index(i).Interface())
		if err != nil {
			return nil, diag.Faultf("join: element %d is %s", i, render.KindName(list.Index(i).Interface()))
		}
		b.WriteString(s)
		if b.Len() > render.MaxOutput {
			return nil, render.TooLong("join")
		}
	}
	return b.String(), nil
}

// mapFunction replaces a function of the language that makes a list of a map in any order
// by one that sorts by the keys: a content must not differ from run to run.
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

// compareKeys orders keys, which are not always texts: groupBy makes keys of any values.
func compareKeys(a, b any) int {
	if x, y := reflect.ValueOf(a), reflect.ValueOf(b); x.CanInt() && y.CanInt() {
		return cmp.Compare(x.Int(), y.Int())
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
