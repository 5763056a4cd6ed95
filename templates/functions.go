package templates

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"
)

// The functions the rewriter puts into expressions. Their names cannot be
// written there. The first argument of all is the run.
const (
	rootFunction    = "·root"
	memberFunction  = "·member"
	presentFunction = "·present"
	boundedFunction = "·bounded"
	stepFunction    = "·step"
	lookupFunction  = "·lookup"
	searchFunction  = "·search" // a lookup of a path that is computed
	fileFunction    = "·file"
	renderFunction  = "·render"
	jsonFunction    = "·toJSON"
)

// functionNames are the functions that expressions have beyond those of the
// expression language.
func functionNames() []string { return []string{"lookup", "file", "readFile", "template", "jet"} }

func isFunction(name string) bool { return slices.Contains(functionNames(), name) }

// functions are all functions that replace or extend those of the language.
func functions() []*builtin.Function {
	return []*builtin.Function{
		withRun(rootFunction, func(r *run, args []any) (any, error) { return r.env.needRoot(args[0].(string)) }),
		withRun(memberFunction, func(r *run, args []any) (any, error) {
			return r.member(args[0], args[1], access(args[2].(int)), args[3].(string))
		}),
		withRun(presentFunction, presentValue),
		withRun(boundedFunction, boundedValue),
		withRun(stepFunction, func(r *run, _ []any) (any, error) { return nil, r.step() }),
		withRun(lookupFunction, (*run).lookup),
		withRun(searchFunction, (*run).search),
		withRun(fileFunction, (*run).file),
		withRun(renderFunction, func(r *run, args []any) (any, error) { return args[0].(*renderCall).render(r) }),
		textFunction("replace", replaceText),
		textFunction("join", joinList),
		textFunction("string", func(args []any) (any, error) { return text(args[0]) }),
		mapFunction("keys", keyOf),
		mapFunction("values", elementOf),
		mapFunction("toPairs", pairOf),
		textFunction("toJSON", nil), // only its name: the rewriter calls the next one
		withRun(jsonFunction, jsonText),
	}
}

func withRun(name string, fn func(r *run, args []any) (any, error)) *builtin.Function {
	return &builtin.Function{Name: name, Func: func(args ...any) (any, error) {
		return fn(args[0].(*run), args[1:])
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
	}
	return func(args []reflect.Type) (reflect.Type, error) {
		if len(args) < least || len(args) > most {
			return nil, faultf("wrong number of arguments for %s", name)
		}
		return reflect.TypeFor[string](), nil
	}
}

func presentValue(_ *run, args []any) (any, error) {
	if args[0] == absent {
		return nil, nil
	}
	return args[0], nil
}

func boundedValue(r *run, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		return s, r.fits(len(s))
	}
	return args[0], nil
}

func (r *run) lookup(args []any) (any, error) {
	path, ok := args[0].(string)
	if !ok {
		return nil, faultf("lookup: the path must be a string, not %s", kindOf(args[0]))
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	value, found, err := r.env.lookup(path)
	switch {
	case err != nil || found:
		return value, err
	case len(args) > 1 && args[1] != nil:
		return args[1], nil
	case r.env.lenient:
		return "", nil
	}
	return nil, r.env.missingKey(path)
}

// search is lookup of a path that is computed: it may be what a host sent, so no
// error shows it.
func (r *run) search(args []any) (any, error) {
	value, err := r.lookup(args)
	if _, isText := args[0].(string); err == nil || !isText || r.dead != nil {
		return value, err
	}
	return nil, faultf("lookup: there is nothing at the computed path").withHint("give a default: lookup(…, …)")
}

func (r *run) file(args []any) (any, error) {
	name, ok := args[0].(string)
	if !ok {
		return nil, faultf("file: the path must be a string, not %s", kindOf(args[0]))
	}
	content, err := r.env.Files.Read(name)
	return string(content), err
}

func stringArgs(function string, args []any) ([]string, error) {
	list := make([]string, len(args))
	for i, arg := range args {
		s, err := text(arg)
		if err != nil {
			return nil, faultf("%s: argument %d must be a string, not %s", function, i+1, kindOf(arg))
		}
		list[i] = s
	}
	return list, nil
}

// replaceText is replace(text, old, new[, count]).
func replaceText(args []any) (any, error) {
	s, err := stringArgs("replace", args[:3])
	if err != nil {
		return nil, err
	}
	count := -1
	if len(args) == 4 {
		n, ok := index(args[3])
		if !ok {
			return nil, faultf("replace: the count must be an integer, not %s", kindOf(args[3]))
		}
		count = n
	}
	found := strings.Count(s[0], s[1])
	if growth := len(s[2]) - len(s[1]); growth > 0 && found > (MaxOutput-len(s[0]))/growth {
		return nil, tooLong("replace")
	}
	return strings.Replace(s[0], s[1], s[2], count), nil
}

func tooLong(function string) error {
	return faultf("%s: the text grows beyond %d MiB", function, MaxOutput>>20)
}

// joinList is join(list[, separator]).
func joinList(args []any) (any, error) {
	if args[0] == nil || !isList(args[0]) {
		return nil, faultf("join: needs a list, not %s", kindOf(args[0]))
	}
	separator := ""
	if len(args) > 1 {
		s, err := stringArgs("join", args[1:])
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
		s, err := text(list.Index(i).Interface())
		if err != nil {
			return nil, faultf("join: element %d is %s", i, kindOf(list.Index(i).Interface()))
		}
		b.WriteString(s)
		if b.Len() > MaxOutput {
			return nil, tooLong("join")
		}
	}
	return b.String(), nil
}

// jsonText writes a value as indented JSON, without escaping for HTML.
func jsonText(r *run, args []any) (any, error) {
	value, err := plain(r, args[0])
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return nil, faultf("toJSON: the value cannot be written as JSON")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
