package ansible

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestYAMLBlanks checks texts that no file can contain. The other texts are in cmd/ccm-push/testdata/ansible, with the
// values that Ansible reads.
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

// FuzzYAML checks that every value that is not a text can be read as JSON.
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
