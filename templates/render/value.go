package render

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// KindName names the type of a value in the language of manifests.
func KindName(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case time.Time:
		return "a time"
	case time.Duration:
		return "a duration"
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt(), rv.CanUint():
		return "an integer"
	case rv.CanFloat():
		return "a number"
	case rv.Kind() == reflect.Map:
		return "a map"
	case rv.Kind() == reflect.Slice, rv.Kind() == reflect.Array:
		return "a list"
	case rv.Kind() == reflect.Func:
		return "a function"
	}
	return "a value of another kind"
}

// TextOf returns the natural text of a scalar: whole numbers plain, other numbers in their shortest form, booleans as
// true and false.
func TextOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case []byte:
		return string(v), nil
	case nil:
		return "", diag.Faultf("nil in a text").WithHint(`give a value for this case, as in (… ?? "none")`)
	case time.Time:
		return v.Format(time.RFC3339), nil
	case time.Duration:
		return v.String(), nil
	case Refused:
		return "", v.Fault
	case Sealed:
		return v.Open()
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return strconv.FormatInt(rv.Int(), 10), nil
	case rv.CanUint():
		return strconv.FormatUint(rv.Uint(), 10), nil
	case rv.CanFloat():
		return floatText(rv.Float())
	}
	return "", diag.Faultf("%s in a text", KindName(v)).WithHint("use join(…) or toJSON(…)")
}

// floatText writes a number as JSON does.
func floatText(f float64) (string, error) {
	abs := math.Abs(f)
	switch {
	case math.IsInf(f, 0), math.IsNaN(f):
		return "", errNoNumber()
	case f == 0, abs >= 1e-6 && abs < 1e21:
		return strconv.FormatFloat(f, 'f', -1, 64), nil
	}
	return strconv.FormatFloat(f, 'e', -1, 64), nil
}

func errNoNumber() error {
	return diag.Faultf("the result is not a finite number").WithHint("look for a division by zero")
}

// WholeNumber makes an int64 of a float without a fraction, if it fits.
func WholeNumber(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return v
}

// PlainCopy makes a plain value of the result of an expression: a copy that shares nothing
// with it. Numbers without a fraction become int64. r bounds the work, and may be nil for
// values that are known to be small.
func PlainCopy(r *Run, v any) (any, error) {
	if r != nil {
		if err := r.Step(); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case nil, string, bool, int64:
		return v, nil
	case json.Number:
		return ParseNumber(string(v))
	case []byte:
		return string(v), nil
	case time.Time, time.Duration:
		return TextOf(v)
	case Refused, Sealed:
		return used(v)
	case map[string]any:
		return plainMap(r, reflect.ValueOf(v))
	case []any:
		return plainList(r, reflect.ValueOf(v))
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return rv.Int(), nil
	case rv.CanUint():
		return ParseNumber(strconv.FormatUint(rv.Uint(), 10))
	case rv.CanFloat():
		if f := rv.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errNoNumber()
		}
		return WholeNumber(rv.Float()), nil
	case rv.Kind() == reflect.Slice, rv.Kind() == reflect.Array:
		return plainList(r, rv)
	case rv.Kind() == reflect.Map:
		return plainMap(r, rv)
	}
	return nil, diag.Faultf("the expression gives %s", KindName(v))
}

func plainList(r *Run, rv reflect.Value) (any, error) {
	list := make([]any, rv.Len())
	for i := range list {
		var err error
		if list[i], err = PlainCopy(r, rv.Index(i).Interface()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func plainMap(r *Run, rv reflect.Value) (any, error) {
	m := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		key, err := TextOf(it.Key().Interface())
		if err != nil {
			return nil, diag.Faultf("a map with a key that is %s", KindName(it.Key().Interface()))
		}
		if m[key], err = PlainCopy(r, it.Value().Interface()); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ParseNumber reads a JSON number: an int64 where it is whole and fits, else a float64.
func ParseNumber(raw string) (any, error) {
	if !json.Valid([]byte(raw)) || strings.Trim(raw, "-+.eE0123456789") != "" {
		return nil, diag.Faultf("%q is not a number", raw) // strconv also takes nan, inf, +1 and 0x1p4
	}
	if i, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return nil, diag.Faultf("a number is out of range")
	}
	return WholeNumber(f), nil
}

// IsList reports whether v, which is not nil, is a list of whatever type.
func IsList(v any) bool {
	if _, ok := v.([]any); ok {
		return true
	}
	kind := reflect.TypeOf(v).Kind()
	return kind == reflect.Slice || kind == reflect.Array
}

// ListIndex returns key as a list index; false if it is not one.
func ListIndex(key any) (int, bool) {
	if s, ok := key.(string); ok {
		i, err := strconv.ParseUint(s, 10, 31) // Data.list.0
		return int(i), err == nil
	}
	if key == nil {
		return 0, false
	}
	switch rv := reflect.ValueOf(key); {
	case rv.CanInt():
		return int(rv.Int()), true
	case rv.CanUint():
		return int(rv.Uint()), true
	case rv.CanFloat() && rv.Float() == float64(int(rv.Float())):
		return int(rv.Float()), true
	}
	return 0, false
}

// SortedKeys returns the keys of m in the order of their bytes.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TypeNames replaces Go types by the type names of manifests.
func TypeNames() *strings.Replacer {
	return strings.NewReplacer(
		"map[string]interface {}", "map", "[]interface {}", "list", "interface {}", "any value",
		"map[string]any", "map", "[]any", "list", "[]string", "list", "[]int", "list",
		"float64", "number", "int64", "int", "<nil>", "nil", "time.Time", "time",
	)
}
