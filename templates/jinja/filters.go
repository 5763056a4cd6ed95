package jinja

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

type bounds struct{ least, most int }

// arguments are the filters that are understood, with how many arguments they take.
func arguments() map[string]bounds {
	return map[string]bounds{
		"default": {0, 2}, "d": {0, 2}, "join": {0, 1}, "lower": {}, "upper": {}, "int": {0, 1}, "bool": {},
		"to_json": {}, "b64encode": {}, "basename": {}, "replace": {2, 3},
	}
}

// apply gives what a filter makes of a value. of is what the value began as, for errors.
func (f filter) apply(r *render.Run, v any, of operand) (any, error) {
	args := make([]any, len(f.args))
	for i, arg := range f.args {
		value, err := arg.value(r)
		if err != nil {
			return nil, err
		}
		if value == render.Absent {
			return nil, arg.missing(r)
		}
		args[i] = value
	}
	if f.name == "default" || f.name == "d" {
		return orDefault(v, args), nil
	}
	if v == render.Absent {
		return nil, of.missing(r)
	}
	switch f.name {
	case "join":
		return joined(r, v, args)
	case "int":
		return asInt(v, args), nil
	case "bool":
		return asBool(v), nil
	case "to_json":
		return asJSON(r, v)
	}
	if _, isText := v.(string); f.name == "basename" && !isText {
		return nil, diag.Faultf("basename: needs a text, not %s", render.KindName(v))
	}
	s, err := pythonText(v)
	if err != nil {
		return nil, err
	}
	switch f.name {
	case "lower":
		return strings.ToLower(s), nil
	case "upper":
		return cases.Upper(language.Und).String(s), nil // as Python: ß is SS
	case "b64encode":
		return base64.StdEncoding.EncodeToString([]byte(s)), r.CheckLength(len(s) * 4 / 3)
	case "basename":
		return s[strings.LastIndexByte(s, '/')+1:], nil
	}
	return render.ReplaceText(append([]any{s}, args...))
}

// orDefault is the default of a variable that is not there; with a second argument that is
// true also of one that is empty.
// pythonText is a value as a filter takes it for a text; beside one, None is nothing.
func pythonText(v any) (string, error) {
	if v == nil {
		return "None", nil
	}
	return textOf(v)
}

func orDefault(v any, args []any) any {
	var value any = ""
	if len(args) > 0 {
		value = args[0]
	}
	if v == render.Absent || len(args) > 1 && truth(args[1]) && !truth(v) {
		return value
	}
	return v
}

// truth is that of Python.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

func joined(r *render.Run, v any, args []any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, diag.Faultf("join: needs a list, not %s", render.KindName(v))
	}
	separator := ""
	if len(args) > 0 {
		var err error
		if separator, err = pythonText(args[0]); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	for i, item := range list {
		if i > 0 {
			b.WriteString(separator)
		}
		s, err := pythonText(item)
		if err != nil {
			return nil, err
		}
		b.WriteString(s)
		if err := r.CheckLength(b.Len()); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

// asInt is what int gives: 0, or its argument, for what is no number.
func asInt(v any, args []any) any {
	switch v := v.(type) {
	case int64:
		return v
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case float64:
		if math.Abs(v) < 1<<63 {
			return int64(v)
		}
	case string:
		s := strings.TrimSpace(v)
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<63 {
			return int64(f)
		}
	}
	if len(args) > 0 {
		return args[0]
	}
	return int64(0)
}

func asBool(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		switch strings.ToLower(v) {
		case "yes", "on", "1", "true":
			return true
		}
	case int64:
		return v == 1
	case float64:
		return v == 1
	}
	return false
}

// asJSON writes a value as Python's json does, with the keys of maps in order.
func asJSON(r *render.Run, v any) (any, error) {
	plain, err := render.PlainCopy(r, v)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := writeJSON(&b, plain); err != nil {
		return nil, err
	}
	return b.String(), r.CheckLength(b.Len())
}

func writeJSON(b *strings.Builder, v any) error {
	switch v := v.(type) {
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := writeJSON(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, key := range render.SortedKeys(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			writeText(b, key)
			b.WriteString(": ")
			if err := writeJSON(b, v[key]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case string:
		writeText(b, v)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return diag.Faultf("to_json: the value cannot be written as JSON")
		}
		b.Write(text)
	}
	return nil
}

// writeText writes a text in ASCII.
func writeText(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c >= ' ' && c < 0x7f:
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		default:
			fmt.Fprintf(b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
}
