package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Rules describe how a struct is decoded. The zero Rules match yamlpos.Decode without options: nothing is open.
type Rules struct {
	// Open is the pattern of texts that may replace any value, because they contain an expression that is resolved
	// later; "" if there are none.
	Open string
}

// Of describes the values that are decoded into a struct: a map, without other keys, or null.
func (r Rules) Of(t reflect.Type) *Schema {
	return &Schema{Type: Types{Object, Null}, Properties: r.Properties(t), Others: false}
}

// Properties describes the fields of a struct by their types and by the tags json (the name), also (other spellings,
// with commas between), doc, default, enum, pattern (for the texts that are not empty) and looks. The last is a pattern
// too, for rules that Go code checks more exactly. Any field may be null, which means not given. A field with the tag
// wire:"only" is never written, and one with the tag adhoc is not written in a file: they are omitted.
func (r Rules) Properties(t reflect.Type) Properties {
	var list Properties
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || name == "" || f.Tag.Get("wire") == "only" || f.Tag.Get("adhoc") != "" && f.Tag.Get("event") == "" {
			continue
		}
		s := r.field(f)
		list = append(list, Property{name, s})
		for also := range strings.SplitSeq(f.Tag.Get("also"), ",") {
			if also != "" {
				same := *s
				same.Description = "another spelling of " + name
				list = append(list, Property{also, &same})
			}
		}
	}
	return list
}

// Required lists the fields of a struct with the tag required, except fields with other spellings.
func Required(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("required") == "true" && f.Tag.Get("also") == "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

func (r Rules) field(f reflect.StructField) *Schema {
	s := r.value(f.Type, f.Tag)
	s.Description = f.Tag.Get("doc")
	if text := f.Tag.Get("default"); text != "" {
		s.Default = text
		if k := f.Type.Kind(); k != reflect.String && json.Valid([]byte(text)) {
			s.Default = json.RawMessage(text)
		}
	}
	return s
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// value describes the values that are decoded into t. tag is the tag of its field; an element of a list or map has the
// tag of that field.
func (r Rules) value(t reflect.Type, tag reflect.StructTag) *Schema {
	if t.Kind() == reflect.Pointer {
		return r.value(t.Elem(), tag)
	}
	if t == reflect.TypeFor[time.Duration]() || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return r.text(tag)
	}
	switch t.Kind() {
	case reflect.String:
		return r.text(tag)
	case reflect.Bool:
		return r.open(words, Boolean)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return r.open("", Integer)
	case reflect.Float32, reflect.Float64:
		return r.open("", Number)
	case reflect.Slice:
		s := r.open("", Array)
		s.Items = r.value(t.Elem(), tag)
		return s
	case reflect.Map:
		s := r.open("", Object)
		s.Others = r.value(t.Elem(), "")
		return s
	case reflect.Struct:
		s := r.open("", Object)
		s.Properties, s.Others = r.Properties(t), false
		return s
	case reflect.Interface:
		return &Schema{}
	}
	panic(fmt.Sprintf("schema: yamlpos decodes nothing into %s", t))
}

// words are the booleans of YAML 1.1 that are texts in YAML 1.2.
const words = "^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$"

// open describes values of one type, null, and the texts that fit a pattern or
// may stand for anything.
func (r Rules) open(pattern, t string) *Schema {
	s := &Schema{Type: Types{t, Null}, Pattern: either(pattern, r.Open)}
	if s.Pattern != "" {
		s.Type = Types{t, String, Null}
	}
	return s
}

// text describes a string, for which any scalar may be written.
func (r Rules) text(tag reflect.StructTag) *Schema {
	if enum := tag.Get("enum"); enum != "" {
		return r.enum(strings.Split(enum, ","))
	}
	s := &Schema{Type: Types{String, Number, Boolean, Null}}
	if pattern := either(tag.Get("pattern"), tag.Get("looks")); pattern != "" {
		s.Pattern = either("^$", pattern, r.Open)
	}
	return s
}

// enum describes a choice. An empty value means not given.
func (r Rules) enum(values []string) *Schema {
	list := &Schema{}
	for _, v := range values {
		list.Enum = append(list.Enum, v)
	}
	return &Schema{AnyOf: []*Schema{list, {Type: Types{String, Null}, Pattern: either("^$", r.Open)}}}
}

// either joins patterns and ignores empty ones.
func either(patterns ...string) string {
	var list []string
	for _, p := range patterns {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, "|")
}
