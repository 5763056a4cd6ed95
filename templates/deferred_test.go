package templates_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func TestDataOnData(t *testing.T) {
	type m = map[string]any
	for _, c := range []struct {
		name, source string
		want         m
	}{
		{"a text of others", "data: {url: 'http://{{ Data.host }}:{{ Data.port }}', host: db, port: 80}",
			m{"url": "http://db:80", "host": "db", "port": int64(80)}},
		{"types are kept", "data: {a: '{{ Data.n }}', b: '{{ Data.l }}', c: '{{ Data.n + 1 }}', d: '{{ Data.t }}', n: 5, l: [1, x], t: true}",
			m{"a": int64(5), "b": []any{int64(1), "x"}, "c": int64(6), "d": true, "n": int64(5), "l": []any{int64(1), "x"}, "t": true}},
		{"links of links", "data: {a: '{{ Data.b }}!', b: '{{ Data.c }}?', c: '{{ Facts.os }}'}", m{"a": "linux?!", "b": "linux?", "c": "linux"}},
		{"parts of a map that reads itself", "data: {tls: {dir: /etc/x, key: '{{ Data.tls.dir }}/key', all: ['{{ Data.tls.key }}']}}",
			m{"tls": m{"dir": "/etc/x", "key": "/etc/x/key", "all": []any{"/etc/x/key"}}}},
		{"into what an expression gives", "data: {a: '{{ Data.m.x }}', m: '{{ Data.n }}', n: {x: 1}}",
			m{"a": int64(1), "m": m{"x": int64(1)}, "n": m{"x": int64(1)}}},
		{"a whole map", "data: {a: \"{{ join(keys(Data.m)) + join(values(Data.m)) }}\", m: {x: '{{ Data.s }}', y: 1}, s: z}",
			m{"a": "xyz1", "m": m{"x": "z", "y": int64(1)}, "s": "z"}},
		{"lookup", "data: {a: \"{{ lookup('data.m.x') }}\", b: \"{{ lookup('data.l.#(n==\\\"y\\\").v') }}\", c: \"{{ lookup('data.no', 3) }}\", d: \"{{ lookup('data.l.1.n') }}\", m: {x: '{{ Data.s }}'}, s: z, l: [{n: x}, {n: '{{ \"y\" }}', v: 7}]}",
			m{"a": "z", "b": int64(7), "c": int64(3), "d": "y", "m": m{"x": "z"}, "s": "z", "l": []any{m{"n": "x"}, m{"n": "y", "v": int64(7)}}}},
		{"a template of the data", "data: {a: \"{{ jet('<[[ Data.b ]] [[ len(Data.l) ]]>') }}\", b: '{{ Data.c }}', c: 1, l: ['{{ Data.c }}']}",
			m{"a": "<1 1>", "b": int64(1), "c": int64(1), "l": []any{int64(1)}}},
		{"the branch that is not taken is not needed", "data: {a: '{{ Data.on ? 1 : Data.b }}', b: '{{ Data.on ? Data.a : 2 }}', on: true}",
			m{"a": int64(1), "b": int64(1), "on": true}},
		{"a default that is not needed", "data: {a: '{{ Data.x ?? Data.a2 }}', a2: '{{ Data.a }}', x: '{{ 1 }}'}", m{"a": int64(1), "a2": int64(1), "x": int64(1)}},
		{"a default", "data: {a: '{{ Data.nope ?? Data.b }}', b: '{{ Data.m?.nope?.x }}', m: {}}", m{"a": nil, "b": nil, "m": m{}}},
		{"what counts is read, and only that evaluated", "{data: {a: '{{ Data.b }}', b: '{{ Facts.nope }}'}, overrides: {default: {b: 2}}}", m{"a": int64(2), "b": int64(2)}},
		{"results are not evaluated", "data: {a: '{{ Data.b }}', b: \"{{ '{{ Data.c }}' }}\", c: 1}", m{"a": "{{ Data.c }}", "b": "{{ Data.c }}", "c": int64(1)}},
		{"nor are facts", "data: {a: '{{ Facts.evil }}{{ Data.b }}', b: '{{ Facts.evil }}'}", m{"a": "{{ Data.a }}{{ Data.a }}", "b": "{{ Data.a }}"}},
		{"keys that are computed", "data: {a: '{{ Data.ports[Data.role] }}', ports: {web: '{{ 40 * 2 }}', db: '{{ Data.a }}'}, role: web}",
			m{"a": int64(80), "ports": m{"web": int64(80), "db": int64(80)}, "role": "web"}},
		{"a path that is computed", "data: {a: \"{{ lookup('da' + 'ta.b') }}\", b: '{{ 1 }}'}", m{"a": int64(1), "b": int64(1)}},
		{"deep: maps and lists that expressions give", "{data: {m: '{{ Data.base }}', l: ['{{ Data.x }}'], base: {a: 1, b: 1}, x: 1, s: {k: 1}}, hierarchy: {order: [o], merge: deep}, overrides: {o: {m: {b: 2, c: '{{ Data.m.a }}'}, l: '{{ Data.more }}', more: [2], s: '{{ Data.x }}'}}}",
			m{"m": m{"a": int64(1), "b": int64(2), "c": int64(1)}, "l": []any{int64(1), int64(2)}, "base": m{"a": int64(1), "b": int64(1)},
				"x": int64(1), "more": []any{int64(2)}, "s": int64(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			source, err := templatetest.Source(t, c.source)
			require.NoError(t, err)
			facts := linuxFacts()
			facts["evil"] = "{{ Data.a }}"
			got, err := source.Resolve(t.Context(), facts)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDataOnDataErrors(t *testing.T) {
	const hint = "\n  hint: give one of these keys a value that does not need the other keys; -e and the inventory override the values"
	for _, c := range []errorCase{
		{"data: {a: '{{ Data.a }}'}", "data.yaml:1:12: data refers to itself: a (data.yaml:1:11) needs a" + hint},
		{"data:\n  x: '{{ Data.b }}'\n  c: '{{ Data.a }}'\n  a: ['{{ Data.b }}']\n  b: 'x{{ Data.c[0] }}'\n",
			"data.yaml:3:7: data refers to itself: c (data.yaml:3:6) needs a.0 (data.yaml:4:7) needs b (data.yaml:5:6) needs c" + hint},
		{"data: {a: '{{ len(Data) }}', b: 1}", "data.yaml:1:12: data refers to itself: a (data.yaml:1:11) needs a" + hint},
		{"data: {a: \"{{ lookup('da' + 'ta.nope') }}\", b: 1}", "data.yaml:1:15: lookup: the computed path has no value\n  hint: give a default: lookup(…, …)"},
		{"data: {a: '{{ Data.b ?? 1 }}', b: '{{ Data.a ?? 1 }}'}",
			"data.yaml:1:12: data refers to itself: a (data.yaml:1:11) needs b (data.yaml:1:35) needs a" + hint},
		{"data: {a: '{{ Data.hots }}', host: x}", "data.yaml:1:20: missing key \"Data.hots\"\n  hint: did you mean \"host\"? if the key may be missing, write Data.hots ?? DEFAULT"},
		{"data: {a: '{{ Data.b }}', b: '{{ Facts.nope }}'}", "data.yaml:1:40: missing key \"Facts.nope\"\n  hint: Facts has blank, list, os, ver, zone; if the key may be missing, write Facts.nope ?? DEFAULT"},
		{"data: {a: '{{ Item }}'}", "data.yaml:1:15: \"Item\" is not available here: only resources with the key \"each\" have an item\n  hint: available: Facts, Data"},
		{"{hierarchy: {order: ['{{ Data.x.y }}']}, data: {x: 1}, overrides: {}}", "data.yaml:1:26: \"Data\" is not available here\n  hint: available: Facts"},
	} {
		t.Run(c.source, func(t *testing.T) {
			source, err := templatetest.Source(t, c.source)
			require.NoError(t, err)
			got, err := source.Resolve(t.Context(), linuxFacts())
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Nil(t, got)
		})
	}
}

func TestDataOnDataIsBounded(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("data:\n  k0: 1\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(&b, "  k%d: '{{ Data.k%d }}'\n", i, i-1)
		}
		return b.String()
	}
	source, err := templatetest.Source(t, chain(200))
	require.NoError(t, err)
	data, err := source.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, int64(1), data["k200"])
	source, err = templatetest.Source(t, chain(300))
	require.NoError(t, err)
	_, err = source.Resolve(t.Context(), nil)
	require.ErrorContains(t, err, "refers to data that refers to other data, more than 200 levels deep")

	var doubling strings.Builder
	doubling.WriteString("data:\n  k0: [" + strings.Repeat("x", 100) + "]\n")
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&doubling, "  k%d: '{{ [Data.k%d, Data.k%d] }}'\n", i, i-1, i-1)
	}
	source, err = templatetest.Source(t, doubling.String())
	require.NoError(t, err)
	_, err = source.Resolve(t.Context(), nil)
	require.ErrorContains(t, err, "the data of one host grows beyond 64 MiB")
	require.Len(t, asErrors(err), 1, "what ends the evaluation is said once")
}

func asErrors(err error) yamlpos.Errors {
	var errs yamlpos.Errors
	errs.Add(err)
	return errs
}

// TestDataOnDataInAnyOrder evaluates random values that need each other. It checks that the results do not depend on
// the order in which they are written, and that every reported circle is one.
func TestDataOnDataInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 18))
	link := regexp.MustCompile(`(k\d+) \(data\.yaml:\d+:\d+\)`)
	circles := 0
	for range 300 {
		n := 2 + random.IntN(12)
		needs := make([][]int, n)
		for i := range needs {
			for range random.IntN(3) {
				from := 0
				if random.IntN(12) == 0 {
					from = random.IntN(n) // perhaps a circle
				} else if i > 0 {
					from = random.IntN(i)
				} else {
					continue
				}
				needs[i] = append(needs[i], from)
			}
		}
		var want map[string]any
		for range 3 {
			var b strings.Builder
			b.WriteString("data:\n")
			for _, i := range random.Perm(n) {
				fmt.Fprintf(&b, "  k%d: '<%d", i, i)
				for _, from := range needs[i] {
					fmt.Fprintf(&b, "{{ Data.k%d }}", from)
				}
				b.WriteString(">'\n")
			}
			source, err := templatetest.Source(t, b.String())
			require.NoError(t, err)
			got, err := source.Resolve(t.Context(), nil)
			if isCircular(needs) {
				circles++
				require.Error(t, err)
				for _, e := range asErrors(err) {
					names := link.FindAllStringSubmatch(e.Msg, -1)
					require.NotEmpty(t, names, e.Msg)
					for i, name := range names {
						require.Contains(t, keysOf(needs, name[1]), names[(i+1)%len(names)][1], "%s\n%s", b.String(), e.Msg)
					}
				}
				continue
			}
			require.NoError(t, err, b.String())
			if want == nil {
				want = map[string]any{}
				for i := range needs {
					want[fmt.Sprintf("k%d", i)] = spelled(needs, i)
				}
			}
			require.Equal(t, want, got)
		}
	}
	require.Greater(t, circles, 30)
}

func keysOf(needs [][]int, key string) (keys []string) {
	var i int
	fmt.Sscanf(key, "k%d", &i)
	for _, from := range needs[i] {
		keys = append(keys, fmt.Sprintf("k%d", from))
	}
	return keys
}

func spelled(needs [][]int, i int) string {
	text := fmt.Sprintf("<%d", i)
	for _, from := range needs[i] {
		text += spelled(needs, from)
	}
	return text + ">"
}

func isCircular(needs [][]int) bool {
	state := make([]int, len(needs))
	var visit func(i int) bool
	visit = func(i int) bool {
		if state[i] != 0 {
			return state[i] == 1
		}
		state[i] = 1
		for _, from := range needs[i] {
			if visit(from) {
				return true
			}
		}
		state[i] = 2
		return false
	}
	for i := range needs {
		if visit(i) {
			return true
		}
	}
	return false
}

func TestDataOfDataOfFactsIsOfTheHost(t *testing.T) {
	source, err := templatetest.Source(t, `{data: {a: '{{ Data.b.x }}', b: {x: ['{{ Data.c }}']}, c: '{{ Facts.os }}', d: "{{ Data.c == 'x' ? 1 : 2 }}",
  e: '{{ Data.given }}', f: '{{ Data.g }}', g: 1, h: "{{ jet('[[ Data.g ]]') }}"}, overrides: {o: {g2: '{{ Data.a }}'}}}`)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"given": true, "a": true, "b": true, "c": true, "e": true, "g2": true, "h": true},
		templates.KeysFromHost(map[string]bool{"given": true}, source))
	over, err := templates.ParseLayer(templates.Layer{Name: "-e", Values: map[string]any{"g": "{{ Data.a }}"}})
	require.NoError(t, err)
	keys := templates.KeysFromHost(nil, source, over)
	require.True(t, keys["f"], "across sources")
	require.False(t, keys["given"] || keys["d"])
}

func TestParseLayer(t *testing.T) {
	plain := templates.Layer{Name: "-e", Values: map[string]any{"a": "${x}", "b": "$ {x"}}
	source, err := templates.ParseLayer(plain)
	require.NoError(t, err)
	layers, err := source.Layers(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Equal(t, []templates.Layer{plain}, layers)

	_, err = templates.ParseLayer(templates.Layer{Name: "-e", Values: map[string]any{"port": "8{{ 1 + }}"}})
	require.EqualError(t, err, `-e port:1:8: unexpected end in the expression "1 +"`)

	source, err = templates.ParseLayer(templates.Layer{Name: "-e", Values: map[string]any{"url": "http://{{ Data.host }}", "host": "{{ Facts.os }}"}})
	require.NoError(t, err)
	layers, err = source.Layers(t.Context(), linuxFacts(), nil)
	require.NoError(t, err)
	data, err := templates.Settle(t.Context(), linuxFacts(), nil, layers, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"url": "http://linux", "host": "linux"}, data)
	origins := templates.Origins(layers, []string{"url"})
	require.Len(t, origins, 1)
	require.Nil(t, origins[0].Node)
	require.Equal(t, "http://{{ Data.host }}", origins[0].Expression)
}
