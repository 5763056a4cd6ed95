package templates

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInputs(t *testing.T) {
	files := openFiles(t, map[string]string{
		"a.jet":    `[[ Data.port ]] [[ lookup("facts.os.name") ]]`,
		"all.jet":  `[[ range k, v := Data ]][[ k ]][[ end ]]`,
		"b.gotmpl": `{{ .Data.port }}`,
		"c.templ":  `{{ Facts.os.name }} {{ Item.x }}`,
	})
	for _, c := range []struct {
		text string
		want Inputs
	}{
		{"plain", Inputs{}},
		{"{{ Data.a.b }} {{ Facts.x }}", Inputs{data: []string{"a.b"}, facts: []string{"x"}}},
		{"{{ Data[Facts.x] }}", Inputs{allData: true, facts: []string{"x"}}},
		{"{{ Data['a.b'].c }}{{ Facts['x'].y }}", Inputs{allData: true, facts: []string{"x.y"}}},
		{"{{ Data.m['a.b'] }}", Inputs{data: []string{"m"}}},
		{"{{ let d = Data; d.a }}", Inputs{allData: true}},
		{"{{ toJSON(Facts) }}", Inputs{allFacts: true}},
		{"{{ lookup('data.list.0') }}", Inputs{data: []string{"list.0"}}},
		{"{{ lookup(Data.key) }}", Inputs{data: []string{"key"}, allData: true, allFacts: true, item: true}},
		{"{{ map(Data.list, #.x) }}", Inputs{data: []string{"list"}}},
		{"{{ now() }}", Inputs{volatile: true}},
		{"{{ jet('a.jet') }}", Inputs{data: []string{"port"}, facts: []string{"os.name"}}},
		{"{{ jet('all.jet') }}", Inputs{allData: true}},
		{"{{ template('b.gotmpl') }}", Inputs{data: []string{"port"}, volatile: true}},
		{"{{ template('c.templ') }}", Inputs{facts: []string{"os.name"}, item: true}},
	} {
		text, err := Parse(c.text, Position{})
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, text.Inputs(files), c.text)
	}
}

// Whatever else differs between two hosts: what an expression reads decides.
func TestInputsKey(t *testing.T) {
	text, err := Parse("{{ Data.a.b }} {{ Data.list[0] }} {{ Facts.x }}", Position{})
	require.NoError(t, err)
	in := text.Inputs(nil)
	key := func(facts, data map[string]any) string {
		k, ok := in.Key(&Env{Facts: facts, Data: data})
		require.True(t, ok)
		return k
	}
	facts := map[string]any{"x": int64(1), "other": "y"}
	data := map[string]any{"a": map[string]any{"b": "1"}, "list": []any{"p"}, "secret": "s"}
	base := key(facts, data)
	require.Equal(t, base, key(map[string]any{"x": int64(1)}, map[string]any{"a": map[string]any{"b": "1", "c": 2}, "list": []any{"p"}}))
	for name, other := range map[string]string{
		"another value":         key(facts, map[string]any{"a": map[string]any{"b": "2"}, "list": []any{"p"}}),
		"another type":          key(facts, map[string]any{"a": map[string]any{"b": int64(1)}, "list": []any{"p"}}),
		"another fact":          key(map[string]any{"x": 1.0}, data),
		"a null":                key(facts, map[string]any{"a": map[string]any{"b": nil}, "list": []any{"p"}}),
		"nothing":               key(facts, map[string]any{"a": map[string]any{}, "list": []any{"p"}}),
		"another element":       key(facts, map[string]any{"a": map[string]any{"b": "1"}, "list": []any{"q"}}),
		"no list":               key(facts, map[string]any{"a": map[string]any{"b": "1"}}),
		"no data":               key(facts, nil),
		"a list for the map":    key(facts, map[string]any{"a": []any{"b"}, "list": []any{"p"}}),
		"the value for its map": key(facts, map[string]any{"a": "1", "list": []any{"p"}}),
	} {
		require.NotEqual(t, base, other, name)
	}
}
