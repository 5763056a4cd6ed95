package templates

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"time"
)

// kindOf names the type of a value in the language of manifests.
func kindOf(v any) string {
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

// text is the natural text of a scalar: whole numbers plain, other numbers in
// their shortest form, booleans as true and false.
func text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case []byte:
		return string(v), nil
	case nil:
		return "", faultf("nil in a text").withHint(`give a value for this case, as in (… ?? "none")`)
	case time.Time:
		return v.Format(time.RFC3339), nil
	case time.Duration:
		return v.String(), nil
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return strconv.FormatInt(rv.Int(), 10), nil
	case rv.CanUint():
		return strconv.FormatUint(rv.Uint(), 10), nil
	case rv.CanFloat():
		return floatText(rv.Float())
	}
	return "", faultf("%s in a text", kindOf(v)).withHint("use join(…) or toJSON(…)")
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
	return faultf("the result is not a finite number").withHint("look for a division by zero")
}

// wholeNumber makes an int64 of a float without a fraction, if it fits.
func wholeNumber(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return v
}

// plain makes a plain value (see [Env]) of what an expression gave: a copy that
// shares nothing with it. Numbers without a fraction become int64. r bounds the
// work, and may be nil for values that are known to be small.
func plain(r *run, v any) (any, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil, string, bool, int64:
		return v, nil
	case json.Number:
		return number(string(v))
	case []byte:
		return string(v), nil
	case time.Time, time.Duration:
		return text(v)
	case map[string]any:
		return plainMap(r, reflect.ValueOf(v))
	case []any:
		return plainList(r, reflect.ValueOf(v))
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return rv.Int(), nil
	case rv.CanUint():
		return number(strconv.FormatUint(rv.Uint(), 10))
	case rv.CanFloat():
		if f := rv.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errNoNumber()
		}
		return wholeNumber(rv.Float()), nil
	case rv.Kind() == reflect.Slice, rv.Kind() == reflect.Array:
		return plainList(r, rv)
	case rv.Kind() == reflect.Map:
		return plainMap(r, rv)
	}
	return nil, faultf("the expression gives %s", kindOf(v))
}

func plainList(r *run, rv reflect.Value) (any, error) {
	list := make([]any, rv.Len())
	for i := range list {
		var err error
		if list[i], err = plain(r, rv.Index(i).Interface()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func plainMap(r *run, rv reflect.Value) (any, error) {
	m := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		key, err := text(it.Key().Interface())
		if err != nil {
			return nil, faultf("a map with a key that is %s", kindOf(it.Key().Interface()))
		}
		if m[key], err = plain(r, it.Value().Interface()); err != nil {
			return nil, err
		}
	}
	return m, nil
}
