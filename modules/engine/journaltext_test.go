package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

var dueTexts = []struct{ name, text, want string }{
	{"nothing", "", ""},
	{"empty", `{"refresh":[]}`, ""},
	{"one", `{"refresh":[{"resource":"exec#a","changed":"file#/b","run":"r","time":"2026-01-02T03:04:05Z"}]}` + "\n", ""},
	{"cut off", `{"refresh":[`, "unexpected EOF"},
	{"no JSON", "hello", "invalid character 'h' looking for beginning of value"},
	{"an unknown key", `{"refresh":[{"resource":"exec#a","command":"x"}]}`, `json: unknown field "command"`},
	{"more behind it", `{"refresh":[]}{}`, "something follows the JSON object"},
	{"no resource", `{"refresh":[{"resource":"exec"}]}`, "note 1 is not valid"},
	{"the same twice", `{"refresh":[{"resource":"exec#a"},{"resource":"exec#a"}]}`, "note 2 is not valid"},
	{"a long name", `{"refresh":[{"resource":"exec#` + strings.Repeat("a", maxDueText) + `"}]}`, "note 1 is not valid"},
	{"too many", `{"refresh":[` + strings.Repeat(`{},`, maxDue) + `{}]}`, "it has more than 10000 notes"},
}

func TestParseDue(t *testing.T) {
	for _, test := range dueTexts {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseDue([]byte(test.text))
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.want)
			}
		})
	}
}

// FuzzParseDue reads what is where the journal should be.
func FuzzParseDue(f *testing.F) {
	for _, test := range dueTexts {
		if len(test.text) < 1000 {
			f.Add([]byte(test.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		notes, err := parseDue(text)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(notes), maxDue)
		again, err := json.Marshal(dueText{notes})
		require.NoError(t, err)
		same, err := parseDue(again)
		require.NoError(t, err)
		require.Equal(t, len(notes), len(same))
	})
}

func TestDueName(t *testing.T) {
	script := strings.Repeat("echo ü; ", 1000)
	a, b := dueName(&modules.Entry{Type: "exec", Name: script + "a"}), dueName(&modules.Entry{Type: "exec", Name: script + "b"})
	require.NotEqual(t, a, b)
	require.LessOrEqual(t, len(a), maxDueText)
	require.Equal(t, "exec#ls", dueName(&modules.Entry{Type: "exec", Name: "ls", Alias: "x"}))
}
