package gotemplate

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

func mapFunctions() map[string]function {
	table := map[string]function{
		"dict": {"a*", newDict},
		"set":  {"msa", (*goRun).set},
		"unset": {"ms", func(_ *goRun, args []any) (any, error) {
			delete(args[0].(map[string]any), args[1].(string))
			return args[0], nil
		}},
		"keys":   {"m*", func(_ *goRun, args []any) (any, error) { return keysOf(args), nil }},
		"values": {"m", func(_ *goRun, args []any) (any, error) { return valuesOf(args[0].(map[string]any)), nil }},
		"dig":    {"aaa*", dig},
	}
	for _, name := range []string{"merge", "mergeOverwrite"} {
		merge := sprigFunction(sprigs()[must(name)], "mm*")
		table[name] = function{"mm*", func(g *goRun, args []any) (any, error) { return g.merge(name, merge, args) }}
		table[must(name)] = table[name]
	}
	table["deepCopy"] = function{"a", func(g *goRun, args []any) (any, error) { return g.Copied("deepCopy", args[0]) }}
	table["mustDeepCopy"] = table["deepCopy"]
	return table
}

// newDict has keys and values in turn; a last key alone has an empty text.
func newDict(_ *goRun, args []any) (any, error) {
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, err := render.TextOf(args[i])
		if err != nil {
			return nil, diag.Faultf("dict: argument %d, a key, must be a text, not %s", i+1, render.KindName(args[i]))
		}
		m[key] = ""
		if i+1 < len(args) {
			m[key] = args[i+1]
		}
	}
	return m, nil
}

// set puts a value into a map, but never a map into itself: its text would have
// no end.
func (g *goRun) set(args []any) (any, error) {
	m := args[0].(map[string]any)
	visited := map[uintptr]bool{}
	if reaches(reflect.ValueOf(args[2]), reflect.ValueOf(m).Pointer(), visited) {
		return nil, diag.Faultf("set: a map cannot hold itself").WithHint("set a copy: deepCopy")
	}
	m[args[1].(string)] = args[2]
	return m, g.AddSteps(len(visited))
}

// reaches reports whether the map target is a part of v.
func reaches(v reflect.Value, target uintptr, visited map[uintptr]bool) bool {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		if v.Pointer() == target {
			return true
		}
		if visited[v.Pointer()] {
			return false
		}
		visited[v.Pointer()] = true
		for it := v.MapRange(); it.Next(); {
			if reaches(it.Value(), target, visited) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if reaches(v.Index(i), target, visited) {
				return true
			}
		}
	}
	return false
}

func keysOf(maps []any) []string {
	list := []string{}
	for _, m := range maps {
		list = append(list, render.SortedKeys(m.(map[string]any))...)
	}
	return list
}

func valuesOf(m map[string]any) []any {
	list := make([]any, 0, len(m))
	for _, key := range render.SortedKeys(m) {
		list = append(list, m[key])
	}
	return list
}

// dig follows keys from map to map: dig "a" "b" default map. The default is for
// a key that is missing on the way.
func dig(_ *goRun, args []any) (any, error) {
	keys, dflt, value := args[:len(args)-2], args[len(args)-2], args[len(args)-1]
	for i, arg := range keys {
		key, isText := arg.(string)
		if !isText {
			return nil, diag.Faultf("dig: argument %d, a key, must be a text, not %s", i+1, render.KindName(arg))
		}
		m, isMap := value.(map[string]any)
		if !isMap {
			return nil, diag.Faultf("dig: key %d is looked up in %s, not in a map", i+1, render.KindName(value))
		}
		found := false
		if value, found = m[key]; !found {
			return dflt, nil
		}
	}
	return value, nil
}

// Copied returns a copy whose maps and lists are its own.
func (g *goRun) Copied(name string, v any) (any, error) {
	if err := g.weigh(name, 0, v); err != nil {
		return nil, err
	}
	return cloned(v), nil
}

// merge changes its first map and takes copies of the others in, so that no map
// gets into itself.
func (g *goRun) merge(name string, merge function, args []any) (any, error) {
	for i := range args[1:] {
		var err error
		if args[i+1], err = g.Copied(name, args[i+1]); err != nil {
			return nil, err
		}
	}
	return merge.call(g, args)
}

func jsonFunctions() map[string]function {
	table := map[string]function{
		"fromJson": {"s", func(g *goRun, args []any) (any, error) { return g.fromJSON(args[0].(string)) }},
		"toJson":   {"a", func(g *goRun, args []any) (any, error) { return g.toJSON("toJson", args[0], "", true) }},
		"toPrettyJson": {"a", func(g *goRun, args []any) (any, error) {
			return g.toJSON("toPrettyJson", args[0], "  ", true)
		}},
		"toRawJson": {"a", func(g *goRun, args []any) (any, error) { return g.toJSON("toRawJson", args[0], "", false) }},
	}
	for _, name := range render.SortedKeys(table) {
		table[must(name)] = table[name]
	}
	return table
}

// fromJSON returns plain values, whole numbers as integers.
func (g *goRun) fromJSON(s string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil, diag.Faultf("fromJson: the text is not one JSON value")
	}
	return render.PlainCopy(g.Run, v)
}

// toJSON is [render.Run.JSONText], unless the text would be too long.
func (g *goRun) toJSON(name string, v any, indent string, html bool) (any, error) {
	if err := g.weigh(name, len(indent), v); err != nil {
		return nil, err
	}
	return g.JSONText(name, v, indent, html)
}
