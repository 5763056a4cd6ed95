package gotemplate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A function of Go templates is called with arguments of the kinds that it declares, and its result is limited.
type function struct {
	// Params has a letter for each argument: a anything, s a text (any scalar), i an integer, f a number, n a scalar
	// that Sprig converts to a number, b a boolean, l a list, m a map, d a time. A last "*" lets the preceding argument
	// occur any number of times, a last "?" makes it optional.
	Params string
	call   func(g *goRun, args []any) (any, error)
}

// allFunctions returns all functions of Go templates except the language's own and functions that depend on the
// template.
var allFunctions = sync.OnceValue(func() map[string]function {
	table := sprigFunctions()
	for _, more := range []map[string]function{
		ownFunctions(), boundedTexts(), boundedLists(), mapFunctions(), jsonFunctions(), timeFunctions(), regexFunctions(), printFunctions(),
	} {
		for name, fn := range more {
			table[name] = fn
		}
	}
	return table
})

// ownFunctions returns the functions that Sprig does not have, and the functions that read the host or the template.
func ownFunctions() map[string]function {
	file := function{"a", func(g *goRun, args []any) (any, error) { return g.Run.File(args) }}
	return map[string]function{
		"lookup":    {"aa?", (*goRun).lookup},
		"file":      file,
		"readFile":  file,
		"env":       {"s", (*goRun).environment},
		"expandenv": {"s", (*goRun).expandEnvironment},
		"fail":      {"s", (*goRun).fail},
		maybeFunc:   {"as*", (*goRun).maybe},

		render.KVGetFunction:         {"ss", func(g *goRun, args []any) (any, error) { return g.Run.AskNATS(render.KVGetFunction, args) }},
		render.RegistrationsFunction: {"ssss", func(g *goRun, args []any) (any, error) { return g.Run.AskNATS(render.RegistrationsFunction, args) }},
	}
}

// scaffoldParams returns the parameters of a function that only the templates of a scaffold have; "" for any other.
func scaffoldParams(name string) string {
	switch name {
	case "render":
		return "sa"
	case "write":
		return "ss"
	}
	return ""
}

// writeFunction is write, which only the templates of a scaffold have.
func writeFunction() function {
	return function{scaffoldParams("write"), func(g *goRun, args []any) (any, error) { return g.Run.Write(args) }}
}

// A goRun is one rendering of a Go template.
type goRun struct {
	*render.Run
	Literals map[string]bool // literal texts of fail and lookup, which errors show
	Changes  bool            // the template changes maps, and so receives copies of the values that it reads
	Dot      map[string]any
	patterns map[string]*pattern
}

// Bind returns a function in the form that the engine calls.
func (g *goRun) Bind(name string, fn function) any {
	return func(args ...any) (any, error) { return g.invoke(name, fn, args) }
}

// lookup is the lookup of all engines. A template that changes maps receives a copy. A path is shown only if it is a
// literal: any other may contain text from a host.
func (g *goRun) lookup(args []any) (any, error) {
	v, err := g.Run.Lookup(args)
	path, isText := args[0].(string)
	switch {
	case err != nil && isText && g.Dead == nil && !g.Literals[path]:
		return nil, diag.Faultf("lookup: the computed path has no value").WithHint(`give a default: lookup … "…"`)
	case err == nil && g.Changes:
		return g.Copied("lookup", v)
	}
	return v, err
}

// invoke calls a function: arguments are checked, time and sizes counted. Errors
// of Sprig may hold values, so they are not shown.
func (g *goRun) invoke(name string, fn function, args []any) (out any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			out, err = nil, panicked(name, reason)
		}
	}()
	if err := g.AddSteps(sizes(args)); err != nil {
		return nil, err
	}
	if args, err = arguments(name, fn.Params, args); err != nil {
		return nil, err
	}
	out, err = fn.call(g, args)
	var known *diag.Fault
	switch s, isText := out.(string); {
	case errors.As(err, &known), errors.As(err, new(*diag.Error)):
		return nil, err
	case err != nil:
		return nil, uncallable(name)
	case isText && len(s) > render.MaxOutput:
		return nil, render.TooLong(name)
	}
	return out, g.AddSteps(sizes([]any{out}))
}

func uncallable(name string) *diag.Fault {
	return diag.Faultf("%q cannot be called with these values", name)
}

func panicked(name string, reason any) error {
	err, _ := reason.(error)
	var known *diag.Fault
	switch {
	case errors.As(err, &known):
		return known
	case strings.Contains(fmt.Sprint(err), "divide by zero"), strings.Contains(fmt.Sprint(reason), "division by 0"):
		return diag.Faultf("%s: division by zero", name)
	}
	return uncallable(name)
}

// arity returns the number of arguments of a function; most is -1 if unlimited.
func arity(params string) (least, most int) {
	n := len(params)
	switch {
	case strings.HasSuffix(params, "*"):
		return n - 2, -1
	case strings.HasSuffix(params, "?"):
		return n - 2, n - 1
	}
	return n, n
}

// wrongCount returns an error if a function cannot take n arguments.
func wrongCount(name, params string, n int) *diag.Fault {
	least, most := arity(params)
	switch {
	case n >= least && (most < 0 || n <= most):
		return nil
	case most < 0:
		return diag.Faultf("%q takes %s or more, not %d", name, count(least, "argument"), n)
	case least != most:
		return diag.Faultf("%q takes %d or %s, not %d", name, least, count(most, "argument"), n)
	}
	return diag.Faultf("%q takes %s, not %d", name, count(most, "argument"), n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// arguments converts arguments to the kinds that the function declares.
func arguments(name, params string, args []any) ([]any, error) {
	if f := wrongCount(name, params, len(args)); f != nil {
		return nil, f
	}
	letters := strings.TrimRight(params, "*?")
	for i, arg := range args {
		value, want := argument(letters[min(i, len(letters)-1)], arg)
		if want != "" {
			return nil, diag.Faultf("%s: argument %d must be %s, not %s", name, i+1, want, render.KindName(arg))
		}
		args[i] = value
	}
	return args, nil
}

// argument returns v as a kind of argument. want describes the needed kind if v is another.
func argument(kind byte, v any) (value any, want string) {
	switch kind {
	case 's':
		s, err := render.TextOf(v)
		return s, unless(err == nil, "a text")
	case 'i':
		i, ok := wholeInt(v)
		return i, unless(ok, "an integer")
	case 'f':
		f, ok := floatOf(v)
		return f, unless(ok, "a number")
	case 'n':
		_, err := render.TextOf(v)
		return v, unless(err == nil, "a number")
	case 'b':
		_, ok := v.(bool)
		return v, unless(ok, "a boolean")
	case 'l':
		return v, unless(v != nil && render.IsList(v), "a list")
	case 'm':
		_, ok := v.(map[string]any)
		return v, unless(ok, "a map")
	case 'd':
		t, ok := timeOf(v)
		return t, unless(ok, "a time, or seconds since 1970")
	}
	return v, ""
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

// wholeInt returns v as an integer, also if it is a number without a fraction.
func wholeInt(v any) (int, bool) {
	if _, isText := v.(string); isText {
		return 0, false
	}
	return render.ListIndex(v)
}

func floatOf(v any) (float64, bool) {
	switch rv := reflect.ValueOf(v); {
	case !rv.IsValid():
		return 0, false
	case rv.CanFloat():
		return rv.Float(), true
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	}
	return 0, false
}

// maybe follows keys down from a value; it returns nil if one is missing. A missing root is an error.
func (g *goRun) maybe(args []any) (any, error) {
	value := args[0]
	for i, key := range args[1:] {
		next, found := below(value, key.(string))
		switch {
		case found:
			value = next
		case i == 0 && sameMap(value, g.Dot):
			return nil, missingKey(key.(string), "."+key.(string))
		default:
			return nil, nil
		}
	}
	return value, nil
}

// below returns the value of a map key, or the result of a method without arguments, which times and versions have.
func below(value any, key string) (any, bool) {
	if m, ok := value.(map[string]any); ok {
		next, found := m[key]
		return next, found
	}
	if value == nil {
		return nil, false
	}
	method := reflect.ValueOf(value).MethodByName(key)
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil, false
	}
	return method.Call(nil)[0].Interface(), true
}

// missingKey words the error for a missing key of a chain; the first key is a root.
func missingKey(key, chain string) *diag.Fault {
	f := diag.Faultf("missing key %q in %s", key, chain)
	if first, _, _ := strings.Cut(strings.TrimLeft(chain, "$."), "."); first == key {
		var names, lower []string
		for _, root := range render.RootNames() {
			names, lower = append(names, root), append(lower, strings.ToLower(root))
		}
		if strings.ToLower(key) == key {
			names, lower = lower, names
		}
		names = append(names, lower...)
		if slices.Contains(names, key) {
			return diag.Faultf("%s is not available here", chain)
		}
		if value := diag.InInventory(key); value != "" {
			return f.WithHint("write .%s", value)
		}
		if near := diag.DidYouMean(names, key); near != "" {
			return f.WithHint("%s", near)
		}
	}
	return f.WithHint(`give a default: %s | default "…"`, chain)
}

// changesMaps reports whether a function changes a map argument. A template that calls one receives copies of the
// values that the host's run shares.
func changesMaps(name string) bool {
	switch name {
	case "set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite":
		return true
	}
	return false
}
