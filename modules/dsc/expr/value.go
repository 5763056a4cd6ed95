package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Values are nil, bool, int64, float64, string, []any, map[string]any, [Secure], and
// lists and maps of them.

// A Secure is a value that must not be shown. Every value made from one is secure, too.
type Secure struct{ value *any }

// NewSecure makes a value secure.
func NewSecure(v any) Secure {
	if s, ok := v.(Secure); ok {
		return s
	}
	return Secure{&v}
}

// Reveal returns the value itself.
func (s Secure) Reveal() any {
	if s.value == nil {
		return nil
	}
	return *s.value
}

// Format implements [fmt.Formatter]: a secure value cannot be printed.
func (Secure) Format(f fmt.State, _ rune) { io.WriteString(f, redaction) }

// The members of the objects that stand for secure values in documents, and in what
// resources are given.
const (
	secureString = "secureString"
	secureObject = "secureObject"
)

// MarshalJSON returns the object that resources receive: it contains the value.
func (s Secure) MarshalJSON() ([]byte, error) {
	key := secureObject
	if _, isText := s.Reveal().(string); isText {
		key = secureString
	}
	return json.Marshal(map[string]any{key: s.Reveal()})
}

// Decode reads a JSON document. Integers are exact; objects that stand for secure
// values are secure.
func Decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON document")
	}
	var large json.Number // no float64 holds it: it would be infinite, which JSON cannot say
	if Some(v, func(v any) bool {
		n, _ := v.(json.Number)
		f, _ := n.Float64()
		large = n
		return math.IsInf(f, 0)
	}) {
		return nil, fmt.Errorf("number %s is too large", large)
	}
	return Normal(v), nil
}

// Normal converts a value from other code, such as encoding/json, to the form of this package, without changing the
// original.
func Normal(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, Secure:
		return v
	case int:
		return int64(v)
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Normal(item)
		}
		return list
	case map[string]any:
		if len(v) == 1 {
			if text, ok := v[secureString].(string); ok {
				return NewSecure(text)
			}
			if object, ok := v[secureObject]; ok {
				return NewSecure(Normal(object))
			}
		}
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = Normal(item)
		}
		return m
	}
	return fmt.Sprint(v)
}

// IsSecure reports whether a value is secure, or has a part that is.
func IsSecure(v any) bool {
	return Some(v, func(v any) bool {
		_, secure := v.(Secure)
		p, isPart := v.(Result)
		return secure || isPart && p.IsSecure()
	})
}

// Revealed returns a value with all its secure parts revealed.
func Revealed(v any) any {
	return Mapped(v, func(v any) (any, bool) {
		secret, ok := v.(Secure)
		if !ok {
			return nil, false
		}
		return Revealed(secret.Reveal()), true
	})
}

// Mapped returns a copy of a value, including the values in its lists and objects, in which each value for which each
// reports true is replaced by its result.
func Mapped(v any, each func(v any) (any, bool)) any {
	if made, ok := each(v); ok {
		return made
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Mapped(item, each)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = Mapped(item, each)
		}
		return object
	}
	return v
}

// Some reports whether is reports true for a value, or for any value in its lists and objects.
func Some(v any, is func(v any) bool) bool {
	if is(v) {
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return Some(item, is) })
	case map[string]any:
		for _, item := range v {
			if Some(item, is) {
				return true
			}
		}
	}
	return false
}

// Kind names what a value is, for an error: "a string".
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64:
		return "an integer"
	case float64:
		return "a number with a fraction"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	case Secure:
		return "a secure value"
	case *lambda:
		return "a lambda"
	}
	return "nothing"
}

// Equal compares values, as equals() does.
func Equal(a, b any) bool { return equal(a, b) }

// IsLambda reports whether a value is one of lambda(), which no property can have.
func IsLambda(v any) bool { _, ok := v.(*lambda); return ok }

// equal compares values; an integer equals a float64 with the same value. A secure value equals nothing, because the
// answer would reveal it.
func equal(a, b any) bool {
	switch x := a.(type) {
	case Secure:
		return false
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	}
	if _, secure := b.(Secure); secure {
		return false
	}
	return a == b // scalars: other types of a have returned above
}

// sizeOf returns the approximate memory of a value, in bytes; it stops counting above most.
func sizeOf(v any, most int) int {
	const word = 16
	size := word
	switch v := v.(type) {
	case string:
		size += len(v)
	case Secure:
		size += sizeOf(v.Reveal(), most)
	case []any:
		for _, item := range v {
			if size += sizeOf(item, most-size); size > most {
				break
			}
		}
	case map[string]any:
		for key, item := range v {
			if size += len(key) + sizeOf(item, most-size); size > most {
				break
			}
		}
	}
	return size
}

// text returns a scalar as text, like string() and join().
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 1, 64), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// jsonText returns a value as compact JSON, with only the necessary escapes.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// keys returns the members of an object, sorted.
func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// redaction is the text that dsc prints instead of a secure value.
const redaction = "<secureValue>"

// Redacted returns a value in the form of encoding/json without secure values.
func Redacted(v any) any {
	return Mapped(Normal(v), func(v any) (any, bool) {
		_, secure := v.(Secure)
		return redaction, secure
	})
}
