package ral

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// values are the values of a resource by attribute: strings, bools, []string, and nil for unset. A missing attribute
// means an unknown value.
type values map[string]any

// scalar returns the text of a single value; numbers in decimal.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	}
	return "", false
}

// inWords shows a value in an error.
func inWords(v any) string {
	if v == nil {
		return "null"
	}
	if s, ok := scalar(v); ok {
		return quoted(s)
	}
	switch v.(type) {
	case []any, []string:
		return "a list"
	}
	return "a map"
}

// validateShape refuses values that no attribute could have.
func validateShape(path string, v any) error {
	list, ok := v.([]any)
	if !ok {
		if _, isScalar := scalar(v); !isScalar && v != nil {
			if _, ok := v.([]string); !ok {
				return modules.Errorf(path, "a map is not a value that libral knows")
			}
		}
		return nil
	}
	for i, e := range list {
		if _, ok := scalar(e); !ok {
			return modules.Errorf(fmt.Sprintf("%s[%d]", path, i), "%s is not an element that libral knows", inWords(e))
		}
	}
	return nil
}

// equal compares values of one type; the order of lists counts.
func equal(a, b any) bool {
	x, isList := a.([]string)
	y, both := b.([]string)
	if isList != both {
		return false
	}
	if isList {
		return slices.Equal(x, y)
	}
	return a == b
}

// shown returns the text of a value in a report.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "unset"
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	s, _ := scalar(v)
	return s
}

// state returns a resource as a JSON document: its name and its attributes.
func (v values) state(name string) json.RawMessage {
	doc := maps.Clone(v)
	if doc == nil {
		doc = values{}
	}
	doc["name"] = name
	text, err := json.Marshal(doc)
	if err != nil {
		return nil // of strings, bools and lists: cannot fail
	}
	return text
}

// plus returns the values overridden by others.
func (v values) plus(over values) values {
	all := values{}
	maps.Copy(all, v)
	maps.Copy(all, over)
	return all
}

func quoted(s string) string { return strconv.Quote(s) }

// numbersAsText turns the numbers of a manifest into text, digit for digit: libral has
// none.
func numbersAsText(properties process.Properties) {
	for key, v := range properties {
		switch list := v.(type) {
		case []any:
			for i, e := range list {
				list[i] = numberAsText(e)
			}
		default:
			properties[key] = numberAsText(v)
		}
	}
}

func numberAsText(v any) any {
	switch v.(type) {
	case json.Number, float64, int, int64, uint64:
		s, _ := scalar(v)
		return s
	}
	return v
}
