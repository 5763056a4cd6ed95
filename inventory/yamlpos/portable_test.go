package yamlpos

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// opening opens every value sealed under !vault, except the text "broken".
type opening struct{}

func (opening) Seals(tag string) bool { return tag == "!vault" }
func (opening) Check(*Node) error     { return nil }
func (opening) Value(n *Node) (string, error) {
	if n.Text == "broken" {
		return "", errors.New("no key")
	}
	return "opened " + n.Text, nil
}
func (opening) File(_ string, data []byte) ([]byte, bool, error) { return data, false, nil }

func TestPortable(t *testing.T) {
	const text = `a: [1, -2.5, .inf, true, ~, "1", 0x10, 99999999999999999999, !unsafe "{{ x }}"]
b: {c: !secret shh, d: [x]}
e: !vault "{{ y }}"
f: !vault broken
g: ""
`
	docs, err := Parse("vars.yaml", []byte(text), PlainTag("!unsafe"), KeepSealed(opening{}), Secrets())
	require.NoError(t, err)
	data, err := json.Marshal(Portable{docs[0]})
	require.NoError(t, err)
	var back Portable
	require.NoError(t, json.Unmarshal(data, &back))
	again, err := json.Marshal(back)
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))

	for _, key := range []string{"a", "b", "g"} {
		require.Equal(t, docs[0].Get(key), back.Get(key), key)
	}
	e := back.Get("e")
	require.Equal(t, "opened {{ y }}", e.Value)
	require.Equal(t, "vars.yaml:3:4", e.Pos())
	require.True(t, e.Secret && e.Plain && e.Sealed == nil, "it is a secret text that is not evaluated")
	f := back.Get("f")
	require.NotNil(t, f.Sealed)
	_, err = f.Open()
	require.ErrorContains(t, err, "vars.yaml:4:4: the value is encrypted")
}

func FuzzPortable(f *testing.F) {
	for _, text := range []string{`null`, `{"k":2,"p":[{"t":"a","v":"sa"},{"v":"i1"}]}`, `{"k":1,"i":[{},{"v":"dNaN"}]}`, `{"p":[{}]}`, `{"v":"x"}`, `{"k":1,"i":[null]}`, `{"k":2,"p":[null,null]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var n Portable
		if json.Unmarshal(text, &n) != nil {
			return
		}
		out, err := json.Marshal(n)
		require.NoError(t, err)
		var again Portable
		require.NoError(t, json.Unmarshal(out, &again))
	})
}
