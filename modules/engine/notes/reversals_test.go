package notes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// badReversals are texts of damaged or forged files.
var badReversals = []struct{ name, text, want string }{
	{"no JSON", "{", "unexpected EOF"},
	{"another document", `{"refresh":[]}`, `json: unknown field "refresh"`},
	{"more behind it", `{"reversals":[]} {}`, "something follows the JSON object"},
	{"no play", `{"reversals":[{"type":"file","name":"/a","properties":{}}]}`, "resource 1 is not valid"},
	{"a play that cannot be", `{"reversals":[{"play":"a b","type":"file","name":"/a","properties":{}}]}`, "resource 1 is not valid"},
	{"no type", `{"reversals":[{"play":"p","name":"/a","properties":{}}]}`, "resource 1 is not valid"},
	{"two parts in a type", `{"reversals":[{"play":"p","type":"file#a","name":"/a","properties":{}}]}`, "resource 1 is not valid"},
	{"a name that moves the cursor", `{"reversals":[{"play":"p","type":"file","name":"\u001b[2J","properties":{}}]}`, "resource 1 is not valid"},
	{"no properties", `{"reversals":[{"play":"p","type":"file","name":"/a"}]}`, "resource 1 is not valid"},
	{"properties that are none", `{"reversals":[{"play":"p","type":"file","name":"/a","properties":[]}]}`, "resource 1 is not valid"},
	{"twice", `{"reversals":[{"play":"p","type":"file","name":"/a","properties":{}},{"play":"p","type":"file","name":"/a","properties":{}}]}`, "resource 2 is not valid"},
	{"too many", `{"reversals":[` + strings.Repeat(`{},`, wire.MaxReversals) + `{}]}`, "it has more than 1000 resources"},
}

func TestReversalsAreNotTrusted(t *testing.T) {
	for _, test := range badReversals {
		err := parse([]byte(test.text), &reversalText{})
		require.EqualError(t, err, test.want, test.name)
	}
}

func TestReversalsAreBounded(t *testing.T) {
	one := Reversal{Play: "p", Type: "file", Name: "/a", Properties: json.RawMessage(`{"content":"` + strings.Repeat("x", maxText) + `"}`)}
	_, err := formatReversals([]Reversal{one})
	require.EqualError(t, err, "the records would have more than 1048576 bytes")
	_, err = formatReversals(make([]Reversal, wire.MaxReversals+1))
	require.EqualError(t, err, "it would be more than 1000 resources")
}

func FuzzParseReversals(f *testing.F) {
	for _, test := range badReversals[:len(badReversals)-1] {
		f.Add([]byte(test.text))
	}
	f.Add([]byte(`{"reversals":[{"play":"acme/web","type":"file","name":"/a","sensitive":true,"run":"r","time":"2026-01-02T03:04:05Z","properties":{"name":"/a","ensure":"absent"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var read, reread reversalText
		if parse(text, &read) != nil {
			return
		}
		all := read.Reversals
		again, err := formatReversals(all)
		require.NoError(t, err)
		require.NoError(t, parse(again, &reread))
		same := reread.Reversals
		require.Len(t, same, len(all))
		third, err := formatReversals(same)
		require.NoError(t, err)
		require.Equal(t, string(again), string(third))
		for i := range all {
			require.True(t, same[i].of(all[i].Play, all[i].Type, all[i].Name))
			require.JSONEq(t, string(all[i].Properties), string(same[i].Properties))
		}
	})
}
