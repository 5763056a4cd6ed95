package notes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

var refreshTexts = []struct{ name, text, want string }{
	{"nothing", "", ""},
	{"empty", `{"refresh":[]}`, ""},
	{"one", `{"refresh":[{"resource":"exec#a","changed":"file#/b","run":"r","time":"2026-01-02T03:04:05Z"}]}` + "\n", ""},
	{"cut off", `{"refresh":[`, "unexpected EOF"},
	{"no JSON", "hello", "invalid character 'h' looking for beginning of value"},
	{"an unknown key", `{"refresh":[{"resource":"exec#a","command":"x"}]}`, `json: unknown field "command"`},
	{"more behind it", `{"refresh":[]}{}`, "something follows the JSON object"},
	{"no resource", `{"refresh":[{"resource":"exec"}]}`, "note 1 is not valid"},
	{"the same twice", `{"refresh":[{"resource":"exec#a"},{"resource":"exec#a"}]}`, "note 2 is not valid"},
	{"a long name", `{"refresh":[{"resource":"exec#` + strings.Repeat("a", maxName) + `"}]}`, "note 1 is not valid"},
	{"too many", `{"refresh":[` + strings.Repeat(`{},`, maxRefreshes) + `{}]}`, "it has more than 10000 notes"},
}

func TestParseRefreshes(t *testing.T) {
	for _, test := range refreshTexts {
		t.Run(test.name, func(t *testing.T) {
			err := parse([]byte(test.text), &refreshText{})
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.want)
			}
		})
	}
}

// FuzzParseRefreshes parses arbitrary notes.
func FuzzParseRefreshes(f *testing.F) {
	for _, test := range refreshTexts {
		if len(test.text) < 1000 {
			f.Add([]byte(test.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var all, same refreshText
		if parse(text, &all) != nil {
			return
		}
		require.LessOrEqual(t, len(all.Refresh), maxRefreshes)
		again, err := format(&all)
		require.NoError(t, err)
		require.NoError(t, parse(again, &same))
		require.Equal(t, len(all.Refresh), len(same.Refresh))
	})
}

func TestResourceName(t *testing.T) {
	script := strings.Repeat("echo ü; ", 1000)
	a, b := resourceName(&wire.Entry{Type: "exec", Name: script + "a"}), resourceName(&wire.Entry{Type: "exec", Name: script + "b"})
	require.NotEqual(t, a, b)
	require.LessOrEqual(t, len(a), maxName)
	require.Equal(t, "exec#ls", resourceName(&wire.Entry{Type: "exec", Name: "ls", Alias: "x"}))
}
