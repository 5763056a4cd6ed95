package templates

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A goFunction is a function of Go templates. It is called with arguments of
// the kinds it asks for, and what it gives is bounded.
type goFunction struct {
	// params has a letter for each argument: a anything, s a text (any scalar), i
	// an integer, f a number, n a scalar that Sprig makes a number of, b a
	// boolean, l a list, m a map, d a time. A last "*" lets the one before stand
	// any number of times, a last "?" lets it be absent.
	params string
	call   func(g *goRun, args []any) (any, error)
}

// goFunctions are all functions of Go templates but the language's own and those
// that depend on the template.
var goFunctions = sync.OnceValue(func() map[string]goFunction {
	table := sprigFunctions()
	for _, more := range []map[string]goFunction{
		ownFunctions(), boundedTexts(), boundedLists(), mapFunctions(), jsonFunctions(), timeFunctions(), regexFunctions(), printFunctions(), randomFunctions(),
	} {
		for name, fn := range more {
			table[name] = fn
		}
	}
	return table
})

// ownFunctions are those beyond Sprig, and those that see the host or the
// template.
func ownFunctions() map[string]goFunction {
	file := goFunction{"a", func(g *goRun, args []any) (any, error) { return g.run.file(args) }}
	return map[string]goFunction{
		"lookup":    {"aa?", (*goRun).lookup},
		"file":      file,
		"readFile":  file,
		"env":       {"s", (*goRun).environment},
		"expandenv": {"s", (*goRun).expandEnvironment},
		"fail":      {"s", (*goRun).fail},
		goMaybe:     {"as*", (*goRun).maybe},
	}
}

// A goRun is one rendering of a Go template.
type goRun struct {
	*run
	template *goTemplate
	dot      map[string]any
	patterns map[string]*pattern
}

// bind gives a function the form in which the engine calls it.
func (g *goRun) bind(name string, fn goFunction) any {
	return func(args ...any) (any, error) { return g.invoke(name, fn, args) }
}

// lookup is that of all engines. A template that changes maps gets a copy. A path
// is shown only if it is a literal: any other may hold what a host sent.
func (g *goRun) lookup(args []any) (any, error) {
	v, err := g.run.lookup(args)
	path, isText := args[0].(string)
	switch {
	case err != nil && isText && g.dead == nil && !g.template.literals[path]:
		return nil, faultf("lookup: there is nothing at the computed path").withHint(`give a default: lookup … "…"`)
	case err == nil && g.template.changes:
		return g.copied("lookup", v)
	}
	return v, err
}

// invoke calls a function: arguments are checked, time and sizes counted. Errors
// of Sprig may hold values, so they are not shown.
func (g *goRun) invoke(name string, fn goFunction, args []any) (out any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			out, err = nil, goPanic(name, reason)
		}
	}()
	if err := g.spend(sizes(args)); err != nil {
		return nil, err
	}
	if args, err = goArguments(name, fn.params, args); err != nil {
		return nil, err
	}
	out, err = fn.call(g, args)
	var known *fault
	switch s, isText := out.(string); {
	case errors.As(err, &known), errors.As(err, new(*Error)):
		return nil, err
	case err != nil:
		return nil, uncallable(name)
	case isText && len(s) > MaxOutput:
		return nil, tooLong(name)
	}
	return out, g.spend(sizes([]any{out}))
}

func uncallable(name string) *fault { return faultf("%s cannot be called with these values", name) }

func goPanic(name string, reason any) error {
	err, _ := reason.(error)
	var known *fault
	switch {
	case errors.As(err, &known):
		return known
	case strings.Contains(fmt.Sprint(err), "divide by zero"), strings.Contains(fmt.Sprint(reason), "division by 0"):
		return faultf("%s: division by zero", name)
	}
	return uncallable(name)
}

// goArity is how many arguments a function takes; most is -1 if that is open.
func goArity(params string) (least, most int) {
	n := len(params)
	switch {
	case strings.HasSuffix(params, "*"):
		return n - 2, -1
	case strings.HasSuffix(params, "?"):
		return n - 2, n - 1
	}
	return n, n
}

// wrongCount is an error if a function cannot take n arguments.
func wrongCount(name, params string, n int) *fault {
	least, most := goArity(params)
	switch {
	case n >= least && (most < 0 || n <= most):
		return nil
	case most < 0:
		return faultf("%s takes %s or more, not %d", name, count(least, "argument"), n)
	case least != most:
		return faultf("%s takes %d or %s, not %d", name, least, count(most, "argument"), n)
	}
	return faultf("%s takes %s, not %d", name, count(most, "argument"), n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// goArguments are the arguments as the function asks for them.
func goArguments(name, params string, args []any) ([]any, error) {
	if f := wrongCount(name, params, len(args)); f != nil {
		return nil, f
	}
	letters := strings.TrimRight(params, "*?")
	for i, arg := range args {
		value, want := goArgument(letters[min(i, len(letters)-1)], arg)
		if want != "" {
			return nil, faultf("%s: argument %d must be %s, not %s", name, i+1, want, kindOf(arg))
		}
		args[i] = value
	}
	return args, nil
}

// goArgument is v as a kind of argument, or what is wanted instead.
func goArgument(kind byte, v any) (value any, want string) {
	switch kind {
	case 's':
		s, err := text(v)
		return s, unless(err == nil, "a text")
	case 'i':
		i, ok := wholeInt(v)
		return i, unless(ok, "an integer")
	case 'f':
		f, ok := floatOf(v)
		return f, unless(ok, "a number")
	case 'n':
		_, err := text(v)
		return v, unless(err == nil, "a number")
	case 'b':
		_, ok := v.(bool)
		return v, unless(ok, "a boolean")
	case 'l':
		return v, unless(v != nil && isList(v), "a list")
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

// wholeInt is an integer, also one that came as a number without a fraction.
func wholeInt(v any) (int, bool) {
	if _, isText := v.(string); isText {
		return 0, false
	}
	return index(v)
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
