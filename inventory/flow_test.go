package inventory

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func parseOne(t testing.TB, text string) *yamlpos.Node {
	t.Helper()
	documents, err := yamlpos.Parse("f", []byte(text))
	require.NoError(t, err, "%s", text)
	require.Len(t, documents, 1)
	return documents[0]
}

func TestFlowWriter(t *testing.T) {
	var w flowWriter
	w.Entries(parseOne(t, "a: [0x10, yes, ~, 1.0]\nb: {c: \"\\e\\u2028\\\"é\"}\n").Pairs, w.Value)
	require.Equal(t, `"a": [16, "yes", null, 1.0], "b": {"c": "\x1b\u2028\"é"}`, w.String())
	w.Reset()
	w.Entries(parseOne(t, "a: [0x10, yes]\nb: 0777\nc: ~\n").Pairs, w.Text)
	require.Equal(t, `"a": ["0x10", "yes"], "b": "0777", "c": null`, w.String())
}

// FuzzFlowWriter checks that what is written is read back as the same value.
func FuzzFlowWriter(f *testing.F) {
	for _, text := range []string{
		"{a: [1, {b: 2.0}], c: ~, d: x}", "1e300", "-.inf", "99999999999999999999", "true", `"\0\x85\ud7ff\U0001F600"`, "[[], {}, '']",
		"{? " + strings.Repeat("k", 3000) + " : 1}", "2024-01-02", `"- a: b"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yamlpos.Parse("f", []byte(text))
		if err != nil || len(documents) != 1 || size(documents[0]) > 1000 {
			return
		}
		var w flowWriter
		w.Value(documents[0])
		if again := parseOne(t, w.String()).Any(); !hasNaN(again) {
			require.Equal(t, documents[0].Any(), again, "%s", w.String())
		}
		require.NotContains(t, w.String(), "\n")
	})
}

func size(n *yamlpos.Node) int {
	total := 1 + len(n.Text)
	for _, item := range n.Items {
		total += size(item)
	}
	for _, p := range n.Pairs {
		total += len(p.Key.Text) + size(p.Value)
	}
	return total
}

func hasNaN(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.IsNaN(v)
	case []any:
		for _, item := range v {
			if hasNaN(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasNaN(item) {
				return true
			}
		}
	}
	return false
}
