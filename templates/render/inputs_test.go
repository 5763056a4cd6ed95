package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func TestInputs(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"a.jet":       `[[ Data.port ]] [[ lookup("facts.os.name") ]]`,
		"all.jet":     `[[ range k, v := Data ]][[ k ]][[ end ]]`,
		"b.gotmpl":    `{{ .Data.port }}`,
		"own.jet":     `[[ range _, host := Data.hosts ]][[ host.name ]][[ end ]]`,
		"both.jet":    `[[ range _, host := Data.hosts ]][[ end ]][[ host.name ]]`,
		"block.jet":   `[[ range _, host := Data.hosts ]][[ block b() ]][[ host.name ]][[ end ]][[ end ]][[ yield b() ]]`,
		"include.jet": `[[ range _, host := Data.hosts ]][[ include "name.jet" ]][[ end ]]`,
		"name.jet":    `[[ host.name ]]`,
		"c.templ":     `{{ Facts.os.name }} {{ Item.x }}`,
	})
	shared := []string{"Groups", "Hosts", "Play", "Run"}
	for _, c := range []struct {
		text string
		want render.View
	}{
		{"plain", render.View{}},
		{"{{ Data.a.b }} {{ Facts.x }}", render.View{Data: []string{"a.b"}, Facts: []string{"x"}}},
		{"{{ Data[Facts.x] }}", render.View{AllData: true, Facts: []string{"x"}}},
		{"{{ Data['a.b'].c }}{{ Facts['x'].y }}", render.View{AllData: true, Facts: []string{"x.y"}}},
		{"{{ Data.m['a.b'] }}", render.View{Data: []string{"m"}}},
		{"{{ let d = Data; d.a }}", render.View{AllData: true}},
		{"{{ toJSON(Facts) }}", render.View{AllFacts: true}},
		{"{{ lookup('data.list.0') }}", render.View{Data: []string{"list.0"}}},
		{"{{ lookup(Data.key) }}", render.View{Data: []string{"key"}, Shared: shared, AllData: true, AllFacts: true, AllHost: true, Item: true}},
		{"{{ Host.name }} {{ Host.vars.port }}", render.View{Host: []string{"name", "vars.port"}}},
		{"{{ map(Groups.web, Hosts[#].ip) }}", render.View{Shared: []string{"Groups", "Hosts"}}},
		{"{{ jet('own.jet') }}", render.View{Data: []string{"hosts"}}},
		{"{{ jet('both.jet') }}", render.View{Data: []string{"hosts"}, Host: []string{"name"}}},
		{"{{ jet('block.jet') }}", render.View{Data: []string{"hosts"}, Host: []string{"name"}}},
		{"{{ jet('include.jet') }}", render.View{Data: []string{"hosts"}, Host: []string{"name"}}},
		{"{{ map(Data.list, #.x) }}", render.View{Data: []string{"list"}}},
		{"{{ now() }}", render.View{Volatile: true}},
		{"{{ jet('a.jet') }}", render.View{Data: []string{"port"}, Facts: []string{"os.name"}}},
		{"{{ jet('all.jet') }}", render.View{AllData: true}},
		{"{{ template('b.gotmpl') }}", render.View{Data: []string{"port"}, Volatile: true}},
		{"{{ template('c.templ') }}", render.View{Facts: []string{"os.name"}, Item: true}},
	} {
		text, err := templates.Parse(c.text, templates.Position{})
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, text.Inputs(files).View(), c.text)
	}
}

// Whatever else differs between two hosts: what an expression reads decides.
func TestInputsKey(t *testing.T) {
	text, err := templates.Parse("{{ Data.a.b }} {{ Data.list[0] }} {{ Facts.x }}", templates.Position{})
	require.NoError(t, err)
	in := text.Inputs(nil)
	key := func(facts, data map[string]any) string {
		k, ok := in.Key(&templates.Env{Facts: facts, Data: data})
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

// Values of any length and number have keys of their own, and these stay short.
func TestInputsKeyOfMany(t *testing.T) {
	text, err := templates.Parse("{{ Data.list }}", templates.Position{})
	require.NoError(t, err)
	in := text.Inputs(nil)
	seen := map[string]int{}
	for n := range 600 {
		for _, list := range [][]any{{strings.Repeat("a", n)}, slices.Repeat([]any{"a"}, n), {int64(n)}, {strings.Repeat("a", 300), int64(n)}} {
			key, ok := in.Key(&templates.Env{Data: map[string]any{"list": list}})
			require.True(t, ok)
			require.LessOrEqual(t, len(key), 2*256)
			seen[key]++
		}
	}
	require.Len(t, seen, 4*600-1) // a list of one "a" is there twice
}
