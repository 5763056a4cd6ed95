package modules

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Arguments returns the properties of ad-hoc arguments: the name, then property=value. If the type has a CommandLine,
// it parses the words.
func (t Type) Arguments(words []string) (map[string]any, error) {
	if t.CommandLine != nil {
		return t.CommandLine(words)
	}
	if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		return nil, fmt.Errorf("%q is not the name of a resource\n  hint: write the flags of ccm-push before the type; to print the properties, run: ccm-push doc %s", words[0], t.Name)
	}
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return nil, fmt.Errorf("%s takes a name and property=value: %s NAME %s%s", t.Name, t.Name, t.example(), t.orAsk())
	}
	properties := map[string]any{"name": words[0]}
	for _, word := range words[1:] {
		key, text, ok := strings.Cut(word, "=")
		if !ok && strings.HasPrefix(word, "-") {
			return nil, fmt.Errorf("%q is not of the form property=value\n  hint: write the flags of ccm-push before the pattern: ccm-push %s PATTERN %s …", word, word, t.Name)
		}
		if !ok {
			return nil, fmt.Errorf("%q is not of the form property=value%s", word, t.orAsk())
		}
		f, ok := t.field(key)
		if !ok {
			return nil, fmt.Errorf("type %s has no property %q\n  hint: use one of the properties %s", t.Name, key, t.properties())
		}
		value, err := f.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		properties[f.Name] = value
	}
	return properties, nil
}

// orAsk returns a remark about the queries of a type, if it has some: an argument that begins with another word means a
// resource.
func (t Type) orAsk() string {
	queries := t.Queries()
	if len(queries) == 0 {
		return ""
	}
	return fmt.Sprintf("; to query: %s %s", t.Name, strings.Join(queries, ", "+t.Name+" "))
}

// HasProperty reports whether a property of the type is called so, in any spelling.
func (t Type) HasProperty(key string) bool {
	_, ok := t.field(key)
	return ok
}

// OnlyAdHoc returns the text to write in a manifest in place of a property for ad-hoc calls alone; "" for other
// properties.
func (t Type) OnlyAdHoc(key string) string {
	f, _ := t.field(key)
	return f.AdHoc
}

func (t Type) field(key string) (Field, bool) {
	for _, f := range Fields(t.New()) {
		if f.Name == key {
			return f, true
		}
		for _, also := range f.Also {
			if also == key {
				return f, true
			}
		}
	}
	return Field{}, false
}

func (t Type) properties() string {
	var names []string
	for _, f := range Fields(t.New()) {
		if f.Name != "name" {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (t Type) example() string {
	for _, f := range Fields(t.New()) {
		if f.Name != "name" {
			return f.Name + "=…"
		}
	}
	return ""
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// parse reads one value from the command line. Lists are written with commas.
func (f Field) parse(text string) (any, error) {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(textUnmarshaler), t.Kind() == reflect.String:
		return text, nil
	case t.Kind() == reflect.Bool:
		return strconv.ParseBool(text)
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return strconv.ParseInt(text, 10, 64)
	case t.Kind() == reflect.Slice:
		var list []any
		for item := range strings.SplitSeq(text, ",") {
			value, err := Field{Type: t.Elem()}.parse(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	return nil, fmt.Errorf("cannot be given on the command line; write a manifest")
}

// Queries returns the queries of the type's resources, if the command line supports them.
func (t Type) Queries() []string {
	if q, ok := t.New().(Querier); ok && t.QueryLine != nil {
		return q.Queries()
	}
	return nil
}

// Query returns the query that the words of an ad-hoc call begin with; "" if they begin
// with none.
func (t Type) Query(words []string) string {
	if len(words) == 0 || !slices.Contains(t.Queries(), words[0]) {
		return ""
	}
	return words[0]
}

// Words are the words of a command line, taken apart.
type Words struct {
	Rest    []string          // words that belong to no option
	Options map[string]string // values by name, without the dashes
}

// SplitOptions finds the options of a command line, of which each has a value: --NAME
// VALUE or --NAME=VALUE.
func SplitOptions(words, options []string) (Words, error) {
	w := Words{Options: map[string]string{}}
	for i := 0; i < len(words); i++ {
		name, isOption := strings.CutPrefix(words[i], "--")
		if !isOption {
			w.Rest = append(w.Rest, words[i])
			continue
		}
		name, value, given := strings.Cut(name, "=")
		_, twice := w.Options[name]
		switch {
		case !slices.Contains(options, name):
			return w, fmt.Errorf("--%s is not allowed here, only --%s; write the flags of ccm-push before the host pattern", name, strings.Join(options, ", --"))
		case twice:
			return w, fmt.Errorf("--%s is given twice", name)
		case !given && i == len(words)-1:
			return w, errors.New("--" + name + " lacks its value")
		case !given:
			i++
			value = words[i]
		}
		w.Options[name] = value
	}
	return w, nil
}
