package builtin

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/modules"
)

var updateValues = flag.Bool("update-values", false, "write testdata/values.txt")

// hostile are changes of a value that a file or a program may take for something else.
var hostile = []struct {
	name   string
	change func(value string) string
}{
	{"newline", func(v string) string { return middle(v, "\n") }},
	{"CR", func(v string) string { return middle(v, "\r") }},
	{"NUL", func(v string) string { return middle(v, "\x00") }},
	{"dash", func(v string) string { return "-" + v }},
	{"escape", func(v string) string { return middle(v, "\x1b") }},
}

func middle(v, with string) string { return v[:len(v)/2] + with + v[len(v)/2:] }

// TestHostileValues compares the hostile values that types accept with testdata/values.txt, where each has its reason.
// A property that is not listed accepts none: so the next type is covered, too.
func TestHostileValues(t *testing.T) {
	decided := map[string]string{} // the reason, by "type.property value"
	text, err := os.ReadFile("testdata/values.txt")
	if err != nil && !*updateValues {
		require.NoError(t, err)
	}
	reasons := map[string]string{} // by "type.property"
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words, reason, _ := strings.Cut(line, " # ")
		all := strings.Fields(words)
		require.NotEmpty(t, reason, "%s has no reason", line)
		reasons[all[0]] = reason
		for _, value := range all[1:] {
			decided[all[0]+" "+value] = reason
		}
	}
	taken, reached := map[string]bool{}, 0
	for _, typ := range Types() {
		bases := examplesOf(t, typ)
		for _, property := range texts(reflect.TypeOf(typ.New()).Elem()) {
			for _, base := range bases {
				value := valueOf(base, property)
				if value == "" {
					value = "xx"
				}
				if !takes(typ, base, property, value) {
					continue
				}
				reached++
				for _, h := range hostile {
					if takes(typ, base, property, h.change(value)) {
						taken[typ.Name+"."+property+" "+h.name] = true
					}
				}
			}
		}
	}
	require.Greater(t, reached, 200, "the examples of the types reach too few properties")
	if *updateValues {
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				out.WriteString(line)
			}
		}
		out.WriteString("\n")
		by := map[string][]string{}
		for _, one := range slices.Sorted(maps.Keys(taken)) {
			property, value, _ := strings.Cut(one, " ")
			by[property] = append(by[property], value)
		}
		for _, property := range slices.Sorted(maps.Keys(by)) {
			reason := reasons[property]
			if reason == "" {
				reason = "(give the reason)"
			}
			out.WriteString(property + " " + strings.Join(by[property], " ") + " # " + reason + "\n")
		}
		require.NoError(t, os.WriteFile("testdata/values.txt", []byte(out.String()), 0o644))
		return
	}
	for one := range taken {
		require.NotEmpty(t, decided[one], "%s is taken: have Validate refuse it (modules.ValidateArgument, ValidateLine, ValidatePath), or give the reason why it is harmless in testdata/values.txt", one)
	}
	for one := range decided {
		require.True(t, taken[one], "%s is refused: take it out of testdata/values.txt", one)
	}
}

// texts are the properties of a type that are texts, or lists or maps of texts.
func texts(of reflect.Type) (names []string) {
	for field := range fields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" || field.Tag.Get("wire") != "" || field.Tag.Get("enum") != "" {
			continue
		}
		typ := field.Type
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.String {
			names = append(names, name)
		}
	}
	return names
}

func fields(of reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			if f := of.Field(i); f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

// valueOf is the text of a property in a resource, or the first one of a list.
func valueOf(base map[string]any, property string) string {
	switch v := base[property].(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			if text, ok := v[0].(string); ok {
				return text
			}
		}
	}
	return ""
}

// takes reports whether a type takes a value of a property, as a text, in a list or in a map.
func takes(typ modules.Type, base map[string]any, property, value string) bool {
	for _, as := range []any{value, []any{value}, map[string]any{"key": value}, map[string]any{value: "value"}} {
		with := maps.Clone(base)
		with[property] = as
		text, err := json.Marshal(with)
		if err != nil {
			continue
		}
		if _, err := (modules.Registry{typ}).Decode(typ.Name, text); err == nil {
			return true
		}
	}
	return false
}

// examplesOf are the resources of a type in its examples, and one with a name alone.
func examplesOf(t *testing.T, typ modules.Type) (all []map[string]any) {
	t.Helper()
	examples, err := typ.Examples()
	require.NoError(t, err)
	for _, e := range examples {
		var list []map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(e.Text), &list), e.Name)
		for _, entry := range list {
			resources, _ := entry[typ.Name].([]any)
			for _, one := range resources {
				named, _ := one.(map[string]any)
				for name, properties := range named {
					base, _ := properties.(map[string]any)
					base = maps.Clone(base)
					if base == nil {
						base = map[string]any{}
					}
					if base["ensure"] == "absent" { // absent ignores most properties
						continue
					}
					base["name"] = name
					for _, key := range []string{"subscribe", "require", "control", "register", "alias", "health_checks", "reverse", "when", "tags", "on", "once"} {
						delete(base, key)
					}
					all = append(all, base)
				}
			}
		}
	}
	if all == nil {
		all = []map[string]any{{"name": "/srv/x"}, {"name": "x"}}
	}
	return all
}
