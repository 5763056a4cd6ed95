package dsc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// redactedValue is what DSC shows of a secret.
const redactedValue = "<secureValue>"

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

// wellFormed reports a secret that is none, and properties that no JSON parser would
// take.
func wellFormed(v any, path string, depth int) error {
	if depth > maxNesting {
		return modules.Errorf("properties", "properties are nested deeper than %d", maxNesting)
	}
	switch v := v.(type) {
	case map[string]any:
		if text, ok := v["secureString"]; ok && isSecure(v) {
			if _, ok := text.(string); !ok && text != nil {
				return modules.Errorf(path, "%s: secureString must be a text", path)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := wellFormed(v[key], path+"."+key, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for i := range v {
			if err := wellFormed(v[i], fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstSecret is the path of a secret among properties; "" if there is none.
func firstSecret(v any, path string) string {
	if isSecure(v) {
		return path
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if at := firstSecret(v[key], strings.TrimPrefix(path+"."+key, ".")); at != "" {
				return at
			}
		}
	case []any:
		for i := range v {
			if at := firstSecret(v[i], fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
	}
	return ""
}

// secrets are the texts that nobody may see, the longest first.
type secrets []string

// secretsIn gathers the texts and numbers below the secrets of a value.
func secretsIn(v any) secrets {
	found := map[string]bool{}
	gather(v, false, found)
	delete(found, "")
	all := slices.Collect(maps.Keys(found))
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return all
}

func gather(v any, secret bool, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			gather(item, secret || isSecure(v), found)
		}
	case []any:
		for _, item := range v {
			gather(item, secret, found)
		}
	case string:
		if secret {
			found[v] = true
			found[quoted(v)] = true
			for line := range strings.Lines(v) { // messages come by lines
				found[strings.TrimRight(line, "\r\n")] = true
			}
		}
	case json.Number:
		if secret {
			found[string(v)] = true
		}
	}
}

// quoted is how a text stands within JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return strings.Trim(string(b), `"`)
}

// text takes secrets out of a text, all in one pass: what stands in the place of one
// may have the letters of another.
func (s secrets) text(text string) string {
	if len(s) == 0 {
		return text
	}
	pairs := make([]string, 0, 2*len(s))
	for _, secret := range s {
		pairs = append(pairs, secret, redactedValue)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// printed takes secrets out of what a program has printed and nobody has parsed. JSON
// can write a text in many ways, so lines with escapes are not shown at all.
func (s secrets) printed(text string) string {
	if len(s) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, `\`) {
			end := line[len(strings.TrimRight(line, "\r\n")):]
			line = redactedValue + end
		} else {
			line = s.text(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// value takes secrets out of a value: those in their wrappers, and their texts
// wherever else they stand.
func (s secrets) value(v any) any {
	if isSecure(v) {
		return redactedValue
	}
	switch v := v.(type) {
	case map[string]any:
		safe := make(map[string]any, len(v))
		for key, item := range v {
			safe[s.text(key)] = s.value(item)
		}
		return safe
	case []any:
		safe := make([]any, len(v))
		for i := range v {
			safe[i] = s.value(v[i])
		}
		return safe
	case string:
		return s.text(v)
	case json.Number:
		if slices.Contains(s, string(v)) {
			return redactedValue
		}
	}
	return v
}

// object takes secrets out of a state.
func (s secrets) object(state map[string]any) map[string]any {
	if state == nil {
		return nil
	}
	safe, ok := s.value(state).(map[string]any)
	if !ok { // it looked like a secret itself
		return map[string]any{}
	}
	return safe
}
