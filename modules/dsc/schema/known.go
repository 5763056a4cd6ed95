package schema

import (
	"regexp"
	"sync"
)

// property finds the schemas of common properties that DSC publishes.
var property = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https://(aka\.ms/dsc/schemas|raw\.githubusercontent\.com/PowerShell/DSC/[^/]+/schemas)/(.+/)?resource/properties/(exist|ensure|purge|inDesiredState)\.json$`)
})

// wellKnown gives the schema of a common property; nil if it is none.
func wellKnown(url string) any {
	m := property().FindStringSubmatch(url)
	if m == nil {
		return nil
	}
	switch m[3] {
	case "ensure":
		return map[string]any{"type": "string", "enum": []any{"Absent", "Present", "absent", "present"}}
	case "purge":
		return map[string]any{"type": []any{"boolean", "null"}, "writeOnly": true}
	case "inDesiredState":
		return map[string]any{"type": []any{"boolean", "null"}, "readOnly": true}
	}
	return map[string]any{"type": "boolean", "default": true}
}
