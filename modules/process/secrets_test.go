package process_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/process"
)

// TestSecrets uses secrets in plain form, in JSON, and line by line.
func TestSecrets(t *testing.T) {
	s := process.SecretsOf([]string{"pass\"word", "inner\nline", ""}, []json.Number{"4711"})
	for text, want := range map[string]string{
		"":                          "",
		"open":                      "open",
		`pass"word and pass\"word`:  "<secureValue> and <secureValue>",
		"a line, and\ninner\nline.": "a <secureValue>, and\n<secureValue>.",
		"14711":                     "1<secureValue>",
	} {
		require.Equal(t, want, s.Hide(text))
	}
	require.Equal(t, "open\n<secureValue>\r\nx <secureValue>", s.HidePrinted("open\n"+`a \u0069nner`+"\r\nx line"))
	require.Equal(t, `\`, process.Secrets(nil).HidePrinted(`\`))
}
