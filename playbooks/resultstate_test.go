package playbooks

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzJSONDepth holds how deep JSON is said to be nested against what is read of it.
func FuzzJSONDepth(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"]}"}]}`, `"\\\"[["`, `[]`, `5`, `{"[":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		require.GreaterOrEqual(t, jsonDepth(json.RawMessage(text)), levelsOf(v), text) // of two equal keys one is lost
	})
}

func levelsOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			deepest = max(deepest, levelsOf(one))
		}
	case []any:
		for _, one := range v {
			deepest = max(deepest, levelsOf(one))
		}
	default:
		return 0
	}
	return 1 + deepest
}
