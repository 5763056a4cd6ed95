package dsc

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExportedDocument: whatever a resource calls its instances, the document can be
// read again: no two are called alike, and numbers have the digits that they had.
func TestExportedDocument(t *testing.T) {
	b := newBench(t)
	b.write("all.sh", `printf '%s\n' '{"_name": "x", "n": 1.0}' '{"_name": "x (2)"}' '{"_name": "x"}' '{"_name": "x", "n": [1e3, 0.10, 12345678901234567890]}' '{}' '{"_name": "Thing-4"}' '{"_name": ""}' '{"_name": "[x]"}'`+"\n")
	b.resource(`"export": {"executable": "sh", "args": ["all.sh"]},` + anySchema)
	text, err := b.instance("Test/Thing", `{}`).Query(t.Context(), b.checking(), "export")
	require.NoError(t, err)
	var doc struct {
		Resources []struct {
			Name       string
			Properties json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	var names, properties []string
	for _, r := range doc.Resources {
		names, properties = append(names, r.Name), append(properties, string(r.Properties))
	}
	require.Equal(t, []string{"x", "x (2)", "x (3)", "x (4)", "Thing-4", "Thing-4 (2)", "Thing-6", "[[x]"}, names)
	require.Equal(t, []string{`{"n":1.0}`, `{}`, `{}`, `{"n":[1e3,0.10,12345678901234567890]}`, `{}`, `{}`, `{}`, `{}`}, properties)
}
