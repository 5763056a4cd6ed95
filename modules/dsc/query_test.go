package dsc

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/process"
)

// TestExportedDocument checks that the document can be read again, whatever names a resource uses for its instances:
// names are unique, and numbers keep their digits.
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

func TestFilter(t *testing.T) {
	for _, test := range []struct {
		name, filter, state, want string
	}{
		{"text without case", `{"a": "X"}`, `{"a": "x", "b": 1}`, `{"a": "x", "b": 1}`},
		{"pattern", `{"a": "*b*d"}`, `{"a": "abcd"}`, `{"a": "abcd"}`},
		{"pattern that does not fit", `{"a": "b*"}`, `{"a": "abcd"}`, ""},
		{"parts of a pattern do not overlap", `{"a": "ab*ba"}`, `{"a": "aba"}`, ""},
		{"missing", `{"a": "*"}`, `{}`, ""},
		{"number", `{"a": 1.0}`, `{"a": 1}`, `{"a": 1}`},
		{"part of an object", `{"a": {"b": 1}}`, `{"a": {"b": 1, "c": 2}}`, `{"a": {"b": 1, "c": 2}}`},
		{"plain list", `{"a": ["x"]}`, `{"a": ["y", "X"]}`, `{"a": ["y", "X"]}`},
		{"plain list that lacks one", `{"a": ["x", "z"]}`, `{"a": ["y", "x"]}`, ""},
		{"of a list of objects those that fit", `{"a": [{"n": 1}, {"n": 2}]}`, `{"a": [{"n": 1}, {"n": 2}, {"n": 3}]}`, `{"a": [{"n": 1}, {"n": 2}]}`},
		{"null", `{"a": null}`, `{"a": null}`, `{"a": null}`},
		{"types", `{"a": {}}`, `{"a": "x"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			filter, state := process.Properties{}, process.Properties{}
			require.NoError(t, filter.UnmarshalJSON([]byte(test.filter)))
			require.NoError(t, state.UnmarshalJSON([]byte(test.state)))
			kept, ok := filtered(filter, state)
			require.Equal(t, test.want != "", ok)
			if ok {
				b, err := json.Marshal(kept)
				require.NoError(t, err)
				require.JSONEq(t, test.want, string(b))
			}
		})
	}
}
