package yamlpos

import (
	"cmp"
	"encoding"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"
)

// A setter sets v to a scalar that is not null, or returns why it does not fit.
type setter func(n *Node, v reflect.Value, t target) error

var (
	durationType        = reflect.TypeFor[time.Duration]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// unmarshalers caches for each type whether it reads itself from a text, since the check takes longer than setting most
// values. A type never changes.
var unmarshalers sync.Map // reflect.Type → bool

func isUnmarshaler(t reflect.Type) bool {
	if known, ok := unmarshalers.Load(t); ok {
		return known.(bool)
	}
	is := reflect.PointerTo(t).Implements(textUnmarshalerType)
	unmarshalers.Store(t, is)
	return is
}

// scalarSetter is nil for types that are not written as one scalar.
func scalarSetter(t reflect.Type) setter {
	if t == durationType {
		return setDuration
	}
	hasMethods := t.PkgPath() != "" || t.Kind() == reflect.Struct // no other type has any
	if hasMethods && isUnmarshaler(t) {
		return setUnmarshaler
	}
	switch t.Kind() {
	case reflect.String:
		return setString
	case reflect.Bool:
		return setBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return setUint
	case reflect.Float32, reflect.Float64:
		return setFloat
	}
	return nil
}

// textOf returns the text of a scalar for a field that takes text.
func textOf(n *Node, t target) (string, error) {
	if n.Computed && t.field != nil && t.field.Tag.Get("numbers") == "refuse" {
		switch n.Value.(type) {
		case int64, float64:
			return "", n.Errorf("quote it where it is defined", "%s is %s, not text", t, n.Describe())
		}
	}
	return n.Text, nil
}

func setString(n *Node, v reflect.Value, t target) error {
	text, err := textOf(n, t)
	if err != nil {
		return err
	}
	v.SetString(text)
	return nil
}

// A stringSetter takes any text, and copies less than UnmarshalText would have to.
type stringSetter interface{ SetString(text string) }

func setUnmarshaler(n *Node, v reflect.Value, t target) error {
	text, err := textOf(n, t)
	if err != nil {
		return err
	}
	into := v.Addr().Interface().(encoding.TextUnmarshaler)
	if whole, ok := into.(stringSetter); ok {
		whole.SetString(text)
		return nil
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		return n.Errorf("", "%s: %s", cmp.Or(t.path, "the value"), err)
	}
	return nil
}

func setDuration(n *Node, v reflect.Value, t target) error {
	const hint = "write a number with a unit: 30s, 5m, 1h30m"
	d, err := time.ParseDuration(n.Text)
	if err != nil {
		return n.Errorf(hint, "%s must be a duration, not %s", t, n.Describe())
	}
	v.SetInt(int64(d))
	return nil
}

func setBool(n *Node, v reflect.Value, t target) error {
	if b, ok := n.Value.(bool); ok {
		v.SetBool(b)
		return nil
	}
	b, word := boolWord(n.Text)
	if !word || n.Quoted || n.Computed {
		hint := ""
		if word && n.Quoted {
			hint = "remove the quotes"
		}
		return n.Errorf(hint, "%s must be true or false, not %s", t, n.Describe())
	}
	v.SetBool(b)
	return nil
}

// boolWord parses the words that were booleans in YAML 1.1, in its three allowed spellings, and the booleans of YAML
// 1.2.
func boolWord(word string) (value, ok bool) {
	lower := strings.ToLower(word)
	if word != lower && word != strings.ToUpper(word) && word[1:] != lower[1:] {
		return false, false
	}
	switch lower {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// integer returns the integer value of n.
func integer(n *Node, t target) (int64, error) {
	switch value := n.Value.(type) {
	case int64:
		return value, nil
	case float64:
		if math.Abs(value) >= 1<<63 {
			return 0, outOfRange(n, t)
		}
		if n.Computed && value == math.Trunc(value) {
			return int64(value), nil
		}
	}
	hint := ""
	if n.Quoted && isDigits(n.Text) {
		hint = "remove the quotes"
	}
	return 0, n.Errorf(hint, "%s must be an integer, not %s", t, n.Describe())
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func outOfRange(n *Node, t target) error {
	return n.Errorf("", "%s is out of range: %s", t, n.Text)
}

func setInt(n *Node, v reflect.Value, t target) error {
	i, err := integer(n, t)
	if err != nil {
		return err
	}
	if v.OverflowInt(i) {
		return outOfRange(n, t)
	}
	v.SetInt(i)
	return nil
}

func setUint(n *Node, v reflect.Value, t target) error {
	i, err := integer(n, t)
	if err != nil {
		return err
	}
	if i < 0 || v.OverflowUint(uint64(i)) {
		return outOfRange(n, t)
	}
	v.SetUint(uint64(i))
	return nil
}

func setFloat(n *Node, v reflect.Value, t target) error {
	switch value := n.Value.(type) {
	case int64:
		v.SetFloat(float64(value))
	case float64:
		v.SetFloat(value)
	default:
		return n.Errorf("", "%s must be a number, not %s", t, n.Describe())
	}
	return nil
}
