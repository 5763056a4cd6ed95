package templates_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func linuxFacts() map[string]any {
	return map[string]any{"os": "linux", "ver": int64(12), "zone": "eu", "blank": "", "list": []any{"a", int64(1)}}
}

func TestResolve(t *testing.T) {
	type m = map[string]any
	cases := []struct {
		name, source string
		want         m
	}{
		{"nothing", "{}", m{}},
		{"null parts", "data:\nhierarchy:\noverrides:\n", m{}},
		{"plain data", "data: {a: 1, b: x, c: [1, 2.0, 2.5], d: {e: null, f: true}}",
			m{"a": int64(1), "b": "x", "c": []any{int64(1), int64(2), 2.5}, "d": m{"e": nil, "f": true}}},
		{"types are kept", "data: {a: '{{ Facts.ver }}', b: 'v{{ Facts.ver }}', c: ['{{ Facts.list }}'], d: {e: \"${lookup('facts.nope', 5)}\"}}",
			m{"a": int64(12), "b": "v12", "c": []any{[]any{"a", int64(1)}}, "d": m{"e": int64(5)}}},
		{"keys are not rendered", "data: {'{{ Facts.os }}': 1}", m{"{{ Facts.os }}": int64(1)}},
		{"default hierarchy", "{data: {a: 1, b: 1}, overrides: {default: {a: 2}, other: {b: 2}}}", m{"a": int64(2), "b": int64(1)}},
		{"first", "{data: {a: {x: 1}, b: 1}, hierarchy: {order: ['os:{{ Facts.os }}', zone, default]}, overrides: {default: {b: 3}, zone: {b: 2}, 'os:linux': {a: {y: 2}}}}",
			m{"a": m{"y": int64(2)}, "b": int64(1)}},
		{"first skips missing sections", "{data: {a: 1}, hierarchy: {order: [x, y]}, overrides: {y: {a: 2}}}", m{"a": int64(2)}},
		{"deep, the last wins and lists grow", "{data: {l: [1], a: {x: 1, y: 1}, n: 1}, hierarchy: {order: [p, q], merge: DEEP}, overrides: {p: {l: [2], a: {y: 2}, n: 2}, q: {l: [1], a: {y: 3, z: 3}, n: null}}}",
			m{"l": []any{int64(1), int64(2), int64(1)}, "a": m{"x": int64(1), "y": int64(3), "z": int64(3)}, "n": nil}},
		{"deep, other types replace", "{data: {l: [1], a: {x: 1}}, hierarchy: {order: [p], merge: deep}, overrides: {p: {l: {x: 1}, a: [1]}}}",
			m{"l": m{"x": int64(1)}, "a": []any{int64(1)}}},
		{"an empty key is skipped", "{data: {a: 1}, hierarchy: {order: [\"os:{{ lookup('facts.nope') }}\", 'x:{{ Facts.nope }}', 'y:{{ Facts.blank }}']}, overrides: {'os:': {a: 2}, 'x:': {a: 3}, 'y:': {a: 4}}}",
			m{"a": int64(1)}},
		{"a key that is partly empty is not", "{data: {a: 1}, hierarchy: {order: [\"b:${lookup('facts.nope')}:${Facts.os}\"]}, overrides: {'b::linux': {a: 2}}}",
			m{"a": int64(2)}},
		{"overrides are rendered", "{hierarchy: {order: [x]}, overrides: {x: {a: '{{ Facts.ver + 1 }}'}}}", m{"a": int64(13)}},
		{"sections that are not used are not rendered", "{hierarchy: {order: [x]}, overrides: {y: {a: '{{ Facts.nope }}'}}}", m{}},
		{"a null section", "{data: {a: 1}, overrides: {default: }}", m{"a": int64(1)}},
		{"block scalars", "data:\n  a: |\n    x {{ Facts.os }}\n    y\n", m{"a": "x linux\ny\n"}},
		{"anchors", "data: {a: &x ['{{ Facts.os }}'], b: *x}", m{"a": []any{"linux"}, "b": []any{"linux"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			source, err := templatetest.Source(t, c.source)
			require.NoError(t, err)
			for range 2 { // the second time shows that nothing was changed
				got, err := source.Resolve(t.Context(), linuxFacts())
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			}
		})
	}
}

func TestParseSourceErrors(t *testing.T) {
	cases := []errorCase{
		{"data: [1]", "data.yaml:1:7: \"data\" must be a map, not a list\n  hint: write key: value"},
		{"data: x", "data.yaml:1:7: \"data\" must be a map, not the text \"x\"\n  hint: write key: value"},
		{"overrides: [1]", "data.yaml:1:12: \"overrides\" must be a map of maps, not a list\n  hint: write name: {key: value}"},
		{"overrides:\n  x: [1]", "data.yaml:2:6: \"overrides.x\" must be a map, not a list\n  hint: write key: value"},
		{"hierarchy: x", "data.yaml:1:12: \"hierarchy\" must be a map, not the text \"x\"\n  hint: write order: [...] and merge: first or deep"},
		{"hierarchy: {merge: deep}", "data.yaml:1:12: \"hierarchy.order\" must be a list\n  hint: write order: [\"os:{{ lookup('facts.host.info.os') }}\", default]"},
		{"hierarchy: {order: x}", "data.yaml:1:20: \"hierarchy.order\" must be a list\n  hint: write order: [\"os:{{ lookup('facts.host.info.os') }}\", default]"},
		{"hierarchy: {order: [x, 5]}", "data.yaml:1:24: \"hierarchy.order\" must contain only strings\n  hint: put it in quotes"},
		{"hierarchy: {order: [x], merge: upside}", "data.yaml:1:32: unsupported merge mode: upside\n  hint: write first or deep"},
		{"hierarchy: {order: [x], mrege: deep}", "data.yaml:1:25: unknown key \"mrege\" in \"hierarchy\"\n  hint: it has the keys \"order\" and \"merge\""},
		{"data: {a: '{{ 1 + }}', b: \"x ${nope}\"}", "data.yaml:1:18: unexpected end in the expression \"1 +\"\n" +
			"data.yaml:1:32: unknown name \"nope\" in the expression \"nope\"\n  hint: write a shell variable as $nope, or as ${ '${nope}' }"},
		{"data: {a: '{{ template(Facts.x) }}'}", "data.yaml:1:30: the argument of \"template\" must be a fixed text or file name, not a computed value\n" +
			"  hint: write the file name or the template text directly, in quotes"},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			_, err := templatetest.Source(t, c.source)
			require.Equal(t, c.want, templatetest.ErrorText(err))
		})
	}
}

func TestResolveErrors(t *testing.T) {
	cases := []errorCase{
		{"data: {a: '{{ Facts.nope }}', b: {c: [\"{{ lookup('facts.nope') }}\"]}}",
			"data.yaml:1:21: missing key \"Facts.nope\"\n  hint: Facts has blank, list, os, ver, zone; if the key may be missing, write Facts.nope ?? DEFAULT\n" +
				"data.yaml:1:43: missing key \"facts.nope\"\n  hint: facts has blank, list, os, ver, zone; if the key may be missing, write lookup(\"facts.nope\", DEFAULT)"},
		{"data: {a: 'x{{ Facts.list }}'}", "data.yaml:1:16: a list in a text\n  hint: use join(…) or toJSON(…)"},
		{"data: {a: \"{{ file('x') }}\"}", "data.yaml:1:15: no files can be read here"},
		{"{hierarchy: {order: ['{{ Facts.list }}']}}", "data.yaml:1:26: a list in a text\n  hint: use join(…) or toJSON(…)"},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			source, err := templatetest.Source(t, c.source)
			require.NoError(t, err)
			got, err := source.Resolve(t.Context(), linuxFacts())
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Nil(t, got)
		})
	}
}

func TestResolveEnds(t *testing.T) {
	source, err := templatetest.Source(t, "data: {a: '{{ Facts.os }}'}")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = source.Resolve(ctx, linuxFacts())
	require.EqualError(t, err, "data.yaml:1:15: rendering did not end in time: context canceled")
}

func TestSourceFacts(t *testing.T) {
	source, err := templatetest.Source(t, "{data: {a: '{{ Facts.a }}'}, hierarchy: {order: ['{{ Facts.b.c }}', \"${lookup('facts.d')}\"]}, overrides: {x: {y: ['{{ Facts.e }}']}}}")
	require.NoError(t, err)
	paths, all := source.Facts()
	require.Equal(t, []string{"a", "b.c", "d", "e"}, paths)
	require.False(t, all)
	paths, all = templates.Source{}.Facts()
	require.Empty(t, paths)
	require.False(t, all)
	data, err := templates.Source{}.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{}, data)
}

func TestDeepMerge(t *testing.T) {
	type m = map[string]any
	base := m{"a": m{"x": 1, "l": []any{1}}, "b": 1, "l": append(make([]any, 0, 8), 1)}
	over := m{"a": m{"y": 2, "l": []any{2}}, "b": nil, "l": []any{2}, "n": m{"z": 3}}
	got := templates.DeepMerge(base, over)
	require.Equal(t, m{"a": m{"x": 1, "y": 2, "l": []any{1, 2}}, "b": nil, "l": []any{1, 2}, "n": m{"z": 3}}, got)
	require.Equal(t, m{"a": m{"x": 1, "l": []any{1}}, "b": 1, "l": []any{1}}, base)
	require.Equal(t, m{"a": m{"y": 2, "l": []any{2}}, "b": nil, "l": []any{2}, "n": m{"z": 3}}, over)
	require.Equal(t, []any{1, 9}, templates.DeepMerge(base, m{"l": []any{9}})["l"], "spare room of a list is not shared")
	require.Equal(t, []any{1, 2}, got["l"])
	require.Equal(t, m{}, templates.DeepMerge(nil, nil))
	require.Equal(t, m{"a": 1}, templates.DeepMerge(nil, m{"a": 1}))
	require.Equal(t, m{"a": 1}, templates.DeepMerge(m{"a": 1}, nil))
}

func TestLookup(t *testing.T) {
	facts := templatetest.Host(nil).Facts
	got, err := render.Fact(facts, "host.info.os")
	require.NoError(t, err)
	require.Equal(t, "linux", got)
	got, err = render.Fact(facts, "network.interfaces.#.name")
	require.NoError(t, err)
	require.Equal(t, []any{"lo", "eth0"}, got)
	_, err = render.Fact(facts, "host.info.so")
	require.EqualError(t, err, "unknown fact host.info.so\n  hint: did you mean \"os\"?")
	_, err = render.Fact(facts, "nope")
	require.EqualError(t, err, "unknown fact nope\n  hint: facts has host, network")
}

func TestAt(t *testing.T) {
	doc := templatetest.Document(t, "a: x\nb: \"y\"")
	require.Equal(t, templates.Position{File: "data.yaml", Line: 1, Column: 4}, diag.PositionOf(doc.Get("a")))
	require.Equal(t, templates.Position{File: "data.yaml", Line: 2, Column: 5}, diag.PositionOf(doc.Get("b")))
	require.Equal(t, templates.Position{File: "data.yaml", Line: 2, Column: 4}, diag.PositionOf(yamlpos.From(doc.Get("b"), "z")))
}
