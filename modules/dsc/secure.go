package dsc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// isSecure reports whether a value is a secret: an object with nothing but
// secureString or secureObject.
func isSecure(v any) bool {
	object, ok := v.(map[string]any)
	if !ok || len(object) != 1 {
		return false
	}
	_, text := object["secureString"]
	_, object2 := object["secureObject"]
	return text || object2
}

// maxNesting bounds how deep properties may be nested.
const maxNesting = 64

// validateValues reports a secret that is not written as one, and properties that are
// nested too deep.
func validateValues(v any, path string, depth int) error {
	if depth > maxNesting {
		return modules.Errorf("properties", `"properties" are nested deeper than %d`, maxNesting)
	}
	switch v := v.(type) {
	case map[string]any:
		if text, ok := v["secureString"]; ok && isSecure(v) {
			if _, ok := text.(string); !ok && text != nil {
				return modules.Errorf(path, "%s: secureString must be a text", path)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := validateValues(v[key], path+"."+key, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for i := range v {
			if err := validateValues(v[i], fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// secretAt returns the path of a secret among properties, or "".
func secretAt(v any, path string) string {
	if isSecure(v) {
		return path
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if at := secretAt(v[key], strings.TrimPrefix(path+"."+key, ".")); at != "" {
				return at
			}
		}
	case []any:
		for i := range v {
			if at := secretAt(v[i], fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
	}
	return ""
}

// secretsIn gathers the texts and numbers below the secrets of a value.
func secretsIn(v any) process.Secrets {
	var texts []string
	var numbers []json.Number
	var gather func(v any, secret bool)
	gather = func(v any, secret bool) {
		switch v := v.(type) {
		case map[string]any:
			for _, item := range v {
				gather(item, secret || isSecure(v))
			}
		case []any:
			for _, item := range v {
				gather(item, secret)
			}
		case string:
			if secret {
				texts = append(texts, v)
			}
		case json.Number:
			if secret {
				numbers = append(numbers, v)
			}
		}
	}
	gather(v, false)
	return process.SecretsOf(texts, numbers)
}

// withhold removes secrets from a value: wrapped ones, and their texts in any other place.
func withhold(s process.Secrets, v any) any {
	if isSecure(v) {
		return process.Hidden
	}
	switch v := v.(type) {
	case map[string]any:
		safe := make(map[string]any, len(v))
		for key, item := range v {
			safe[s.Hide(key)] = withhold(s, item)
		}
		return safe
	case []any:
		safe := make([]any, len(v))
		for i := range v {
			safe[i] = withhold(s, v[i])
		}
		return safe
	case string:
		return s.Hide(v)
	case json.Number:
		if slices.Contains(s, string(v)) {
			return process.Hidden
		}
	}
	return v
}

// withholdState takes secrets out of a state.
func withholdState(s process.Secrets, state map[string]any) map[string]any {
	if state == nil {
		return nil
	}
	safe, ok := withhold(s, state).(map[string]any)
	if !ok { // it looked like a secret itself
		return map[string]any{}
	}
	return safe
}
