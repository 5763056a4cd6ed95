package ansible

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestYAMLBlanks is about what no file can hold; the other texts stand in
// cmd/ccm-push/testdata/ansible, with what Ansible has read.
func TestYAMLBlanks(t *testing.T) {
	for _, test := range []struct {
		text  string
		kind  YAMLKind
		value string
	}{
		{"", YAMLNull, "null"},
		{"two words", YAMLText, `"two words"`},
		{"2001-12-14 21:59:43.10 -5", YAMLDate, "2001-12-14 21:59:43.10 -5"},
		{"\x1b[2J", YAMLText, `"\u001b[2J"`},
	} {
		kind, value := YAML(test.text)
		require.Equal(t, test.kind, kind)
		require.Equal(t, test.value, value)
	}
}

// FuzzYAML keeps what is no text readable as JSON.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"yes", "0755", "1:30", "1:30.5", "-1_0:2._", "1e3", ".inf", "2024-01-02", "0x_", "+.5", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, value := YAML(text)
		if kind == YAMLDate || value == "Infinity" || value == "-Infinity" || value == "NaN" {
			return
		}
		require.True(t, json.Valid([]byte(value)), "%q is %s", text, value)
	})
}
