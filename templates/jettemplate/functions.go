package jettemplate

import (
	"html"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// functionNames returns the functions of Jet templates: Jet's own, without dump, and ours.
func functionNames() []string {
	return []string{
		"array", "exec", "file", "hasPrefix", "hasSuffix", "html", "includeIfExists", "ints", "isset", "jet", "json",
		render.KVGetFunction, "len", "lookup", "lower", "map", "raw", "readFile", render.RegistrationsFunction, "repeat", "replace", "safeHtml", "safeJs", "slice",
		"split", "template", "trimSpace", "unsafe", "upper", "url", "writeJson",
	}
}

func isFunction(name string) bool { return slices.Contains(functionNames(), name) }

// noFunction returns an error for a call of a function that Jet does not have.
func noFunction(name string) *diag.Fault {
	if f := diag.RefusedFunction(name); f != nil {
		return f
	}
	return diag.NoSuchFunction(name, functionNames(), func(words diag.Equivalent) string { return words.Jet })
}

// searchFunc is lookup of a path that is computed.
const searchFunc = hiddenPrefix + "search"

// callFunction calls one of the functions that take values.
func callFunction(r *render.Run, name string, args []any) (any, error) {
	switch name {
	case "lookup", searchFunc:
		if len(args) < 1 || len(args) > 2 {
			return nil, diag.Faultf(`"lookup" takes a path and perhaps a default, not %d arguments`, len(args))
		}
		if name == searchFunc {
			return r.LookupComputed(args)
		}
		return r.Lookup(args)
	case "slice", "array":
		return args, nil
	case render.KVGetFunction, render.RegistrationsFunction:
		return r.AskNATS(name, args)
	case render.PrometheusMethod:
		list, ok := args[0].(render.Registrations)
		if !ok {
			return nil, diag.Faultf("%q is a method of the result of registrations(…), not of %s", name, render.KindName(args[0]))
		}
		return list.PrometheusFileSD()
	case "map":
		return newMap(args)
	case "write":
		if len(args) != 2 {
			return nil, diag.Faultf(`"write" takes a path and a text, not %d arguments`, len(args))
		}
		return r.Write(args)
	}
	want := arity(name)
	if len(args) != want {
		return nil, diag.Faultf("%q takes %d arguments, not %d", name, want, len(args))
	}
	switch name {
	case "file", "readFile":
		return r.File(args)
	case "json":
		return r.JSONText(name, args[0], "", false)
	case "writeJson":
		s, err := r.JSONText(name, args[0], "", false)
		return s + "\n", err
	case "len":
		return length(args[0])
	case "ints":
		return integerRange(r, args)
	case "repeat":
		return repeated(r, args)
	case "replace":
		return render.ReplaceText(args)
	}
	s, err := render.StringArgs(name, args)
	if err != nil {
		return nil, err
	}
	return textFunction(name, s), nil
}

func arity(name string) int {
	switch name {
	case "hasPrefix", "hasSuffix", "repeat", "split", "ints":
		return 2
	case "replace":
		return 4
	}
	return 1
}

// textFunction returns the result of a text function.
func textFunction(name string, s []string) any {
	switch name {
	case "lower":
		return strings.ToLower(s[0])
	case "upper":
		return strings.ToUpper(s[0])
	case "trimSpace":
		return strings.TrimSpace(s[0])
	case "hasPrefix":
		return strings.HasPrefix(s[0], s[1])
	case "hasSuffix":
		return strings.HasSuffix(s[0], s[1])
	case "split":
		parts := strings.Split(s[0], s[1])
		list := make([]any, len(parts))
		for i, part := range parts {
			list[i] = part
		}
		return list
	case "html":
		return html.EscapeString(s[0])
	case "safeHtml":
		return template.HTMLEscapeString(s[0])
	case "safeJs":
		return template.JSEscapeString(s[0])
	case "url":
		return url.QueryEscape(s[0])
	}
	return s[0] // raw, unsafe: nothing is escaped anyway
}

func newMap(args []any) (any, error) {
	if len(args)%2 != 0 {
		return nil, diag.Faultf("map: a key without a value")
	}
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, diag.Faultf("map: a key must be a string, not %s", render.KindName(args[i]))
		}
		m[key] = args[i+1]
	}
	return m, nil
}

func length(v any) (any, error) {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return int64(rv.Len()), nil
	}
	return nil, diag.Faultf("len: %s has no length", render.KindName(v))
}

func integerRange(r *render.Run, args []any) (any, error) {
	from, ok1 := render.ListIndex(args[0])
	to, ok2 := render.ListIndex(args[1])
	if !ok1 || !ok2 {
		return nil, diag.Faultf("ints: needs two integers")
	}
	return integers(r, int64(from), int64(to))
}

func repeated(r *render.Run, args []any) (any, error) {
	s, err := render.StringArgs("repeat", args[:1])
	if err != nil {
		return nil, err
	}
	n, ok := render.ListIndex(args[1])
	if !ok || n < 0 {
		return nil, diag.Faultf("repeat: needs a number of times")
	}
	if len(s[0]) > 0 && n > render.MaxOutput/len(s[0]) {
		return nil, render.TooLong("repeat")
	}
	return strings.Repeat(s[0], n), nil
}

// A ranger has the values of a Jet range: the elements of a list, the entries of a map in the order of their keys, or
// integers. Every round is a step.
type ranger struct {
	run  *render.Run
	len  int64
	next int64
	at   func(i int64) (key, value any)
}

var _ jet.Ranger = (*ranger)(nil)

func newRanger(r *render.Run, over any) (*ranger, error) {
	switch v := over.(type) {
	case *ranger:
		return v, nil
	case nil:
		return nil, diag.Faultf("cannot range over nil")
	case map[string]any:
		keys := render.SortedKeys(v)
		return &ranger{run: r, len: int64(len(keys)), at: func(i int64) (any, any) { return keys[i], v[keys[i]] }}, nil
	}
	if !render.IsList(over) {
		return nil, diag.Faultf("cannot range over %s", render.KindName(over))
	}
	list := reflect.ValueOf(over)
	return &ranger{run: r, len: int64(list.Len()), at: func(i int64) (any, any) { return i, list.Index(int(i)).Interface() }}, nil
}

// integers ranges over from … to-1.
func integers(r *render.Run, from, to int64) (*ranger, error) {
	if to <= from {
		return nil, diag.Faultf("ints: the first number must be smaller than the second")
	}
	return &ranger{run: r, len: to - from, at: func(i int64) (any, any) { return i, from + i }}, nil
}

// Range implements Jet's ranger: it returns the next round.
func (g *ranger) Range() (key, value reflect.Value, end bool) {
	if err := g.run.Step(); err != nil {
		panic(err)
	}
	if g.next >= g.len {
		return key, value, true
	}
	k, v := g.at(g.next)
	g.next++
	return reflected(k), reflected(v), false
}

// ProvidesIndex implements Jet's ranger: every round has a key.
func (g *ranger) ProvidesIndex() bool { return true }
