package templates

import (
	"encoding/json"
	"html"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"text/template"
)

// jetFunctionNames are the functions of Jet templates: Jet's own, without dump,
// and ours.
func jetFunctionNames() []string {
	return []string{
		"array", "exec", "file", "hasPrefix", "hasSuffix", "html", "includeIfExists", "ints", "isset", "jet", "json",
		"len", "lookup", "lower", "map", "raw", "readFile", "repeat", "replace", "safeHtml", "safeJs", "slice",
		"split", "template", "trimSpace", "unsafe", "upper", "url", "writeJson",
	}
}

func isJetFunction(name string) bool { return slices.Contains(jetFunctionNames(), name) }

// noJetFunction is an error for a call of a function that Jet does not have.
func noJetFunction(name string) *fault {
	if f := leftOut(name); f != nil {
		return f
	}
	return noSuchFunction(name, jetFunctionNames(), func(words foreignWords) string { return words.jet })
}

// callJet calls one of the functions that take values.
func callJet(r *run, name string, args []any) (any, error) {
	switch name {
	case "lookup", searchFunction:
		if len(args) < 1 || len(args) > 2 {
			return nil, faultf("lookup takes a path and perhaps a default, not %d arguments", len(args))
		}
		if name == searchFunction {
			return r.search(args)
		}
		return r.lookup(args)
	case "slice", "array":
		return args, nil
	case "map":
		return jetMap(args)
	case "write":
		if len(args) != 2 {
			return nil, faultf("write takes a path and a text, not %d arguments", len(args))
		}
		return r.write(args)
	}
	want := jetArity(name)
	if len(args) != want {
		return nil, faultf("%s takes %d arguments, not %d", name, want, len(args))
	}
	switch name {
	case "file", "readFile":
		return r.file(args)
	case "json", "writeJson":
		return jetJSON(r, name, args[0])
	case "len":
		return jetLen(args[0])
	case "ints":
		return jetInts(r, args)
	case "repeat":
		return jetRepeat(r, args)
	case "replace":
		return replaceText(args)
	}
	s, err := stringArgs(name, args)
	if err != nil {
		return nil, err
	}
	return jetText(name, s), nil
}

func jetArity(name string) int {
	switch name {
	case "hasPrefix", "hasSuffix", "repeat", "split", "ints":
		return 2
	case "replace":
		return 4
	}
	return 1
}

// jetText are the functions of texts.
func jetText(name string, s []string) any {
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

func jetMap(args []any) (any, error) {
	if len(args)%2 != 0 {
		return nil, faultf("map: a key without a value")
	}
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, faultf("map: a key must be a string, not %s", kindOf(args[i]))
		}
		m[key] = args[i+1]
	}
	return m, nil
}

// jetJSON is compact JSON; writeJson ends its line.
func jetJSON(r *run, name string, v any) (any, error) {
	value, err := plain(r, v)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, faultf("%s: the value cannot be written as JSON", name)
	}
	if name == "writeJson" {
		return b.String(), nil
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func jetLen(v any) (any, error) {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return int64(rv.Len()), nil
	}
	return nil, faultf("len: %s has no length", kindOf(v))
}

func jetInts(r *run, args []any) (any, error) {
	from, ok1 := index(args[0])
	to, ok2 := index(args[1])
	if !ok1 || !ok2 {
		return nil, faultf("ints: needs two integers")
	}
	return integers(r, int64(from), int64(to))
}

func jetRepeat(r *run, args []any) (any, error) {
	s, err := stringArgs("repeat", args[:1])
	if err != nil {
		return nil, err
	}
	n, ok := index(args[1])
	if !ok || n < 0 {
		return nil, faultf("repeat: needs a number of times")
	}
	if len(s[0]) > 0 && n > MaxOutput/len(s[0]) {
		return nil, tooLong("repeat")
	}
	return strings.Repeat(s[0], n), nil
}
