package templates_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// A plainSource is a source without expressions, as plain values.
type plainSource struct {
	data      map[string]any
	files     []map[string]any
	order     []string
	overrides map[string]map[string]any
	deep      bool
}

func randomSource(r *rand.Rand) plainSource {
	s := plainSource{data: randomMap(r, 3), overrides: map[string]map[string]any{}, deep: r.IntN(2) == 0}
	for range r.IntN(3) {
		s.files = append(s.files, randomMap(r, 3))
	}
	for i := range r.IntN(5) {
		name := fmt.Sprintf("section%d", i)
		s.order = append(s.order, name)
		if r.IntN(3) > 0 {
			s.overrides[name] = randomMap(r, 3)
		}
	}
	return s
}

// randomMap has few keys, so that several maps have the same.
func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[string(rune('a'+r.IntN(4)))] = randomValue(r, depth-1)
	}
	return m
}

func randomValue(r *rand.Rand, depth int) any {
	switch kind := r.IntN(6); {
	case kind < 2 && depth > 0:
		return randomMap(r, depth)
	case kind == 2 && depth > 0:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case kind == 3:
		return nil
	}
	return int64(r.IntN(1000))
}

// parse returns the source, parsed from its written form.
func (s plainSource) parse(tb testing.TB) templates.Source {
	parts := templates.Parts{
		Data:      encoded(tb, "data.yaml", s.data),
		Hierarchy: encoded(tb, "hierarchy.yaml", map[string]any{"order": append([]string{}, s.order...), "merge": map[bool]string{true: "deep", false: "first"}[s.deep]}),
		Overrides: encoded(tb, "overrides.yaml", s.overrides),
	}
	for i, f := range s.files {
		parts.Files = append(parts.Files, encoded(tb, fmt.Sprintf("file%d.yaml", i), f))
	}
	source, err := templates.ParseSource(parts)
	require.NoError(tb, err)
	return source
}

func encoded(tb testing.TB, file string, v any) *yamlpos.Node {
	data, err := json.MarshalIndent(v, "", "  ")
	require.NoError(tb, err)
	docs, err := yamlpos.Parse(file, data)
	require.NoError(tb, err)
	return docs[0]
}

// merged applies the rules of hierarchical data to the source.
func (s plainSource) merged() map[string]any {
	data := maps.Clone(s.data)
	for _, f := range s.files {
		maps.Copy(data, f)
	}
	for _, name := range s.order {
		section, found := s.overrides[name]
		if found && !s.deep {
			maps.Copy(data, section)
			return data
		}
		data = templates.DeepMerge(data, section)
	}
	return data
}

func TestLayersOfRandomSources(t *testing.T) {
	seeds := uint64(500)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		s := randomSource(rand.New(rand.NewPCG(seed, 1)))
		source := s.parse(t)
		layers, err := source.Layers(t.Context(), nil, nil)
		require.NoError(t, err)
		require.Equal(t, s.merged(), templates.Merge(layers), "seed %d", seed)
		data, err := source.Resolve(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, s.merged(), data, "seed %d", seed)
		for _, l := range layers {
			require.Equal(t, l.Node.Any(), any(l.Values), "seed %d: %s", seed, l.Name)
		}
	}
}

func TestLayers(t *testing.T) {
	doc := templatetest.Document(t, `
data: {a: '{{ Facts.ver }}', l: [1]}
file: {a: 2, b: "{{ Facts.os }}"}
hierarchy: {order: ['os:{{ Facts.os }}', "zone:{{ Facts.nope }}", none, 'zone:{{ Facts.zone }}'], merge: deep}
overrides: {'os:linux': {l: [2]}, 'zone:eu': {l: [3]}, 'zone:': {a: wrong}, 'zone:us': {a: wrong}}
`)
	parts := templates.Parts{Data: doc.Get("data"), Files: []*yamlpos.Node{doc.Get("file"), nil, doc.Get("nothing")},
		Hierarchy: doc.Get("hierarchy"), Overrides: doc.Get("overrides")}
	source, err := templates.ParseSource(parts)
	require.NoError(t, err)
	layers, err := source.Layers(t.Context(), linuxFacts(), nil)
	require.NoError(t, err)
	type layer struct {
		Name string
		Node *yamlpos.Node
		Deep bool
	}
	var got []layer
	for _, l := range layers {
		got = append(got, layer{l.Name, l.Node, l.Deep})
	}
	require.Equal(t, []layer{
		{"data", doc.Get("data"), false},
		{"vars_files data.yaml", doc.Get("file"), false},
		{"overrides os:linux", doc.Get("overrides").Get("os:linux"), true},
		{"overrides zone:eu", doc.Get("overrides").Get("zone:eu"), true},
	}, got)
	require.Equal(t, map[string]any{"l": []any{int64(2)}}, layers[2].Values)
	data, err := templates.Settle(t.Context(), linuxFacts(), nil, layers, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": int64(2), "b": "linux", "l": []any{int64(1), int64(2), int64(3)}}, data)
}

func TestLayersErrors(t *testing.T) {
	doc := templatetest.Document(t, "data: {a: '{{ Facts.nope }}'}\nfile: {b: '{{ Data.a }}', c: '{{ Data.d }}'}\nlist: [1]\n")
	source, err := templates.ParseSource(templates.Parts{Data: doc.Get("data"), Files: []*yamlpos.Node{doc.Get("file")}})
	require.NoError(t, err)
	data, err := source.Resolve(t.Context(), linuxFacts())
	require.EqualError(t, err, "data.yaml:1:21: missing key \"Facts.nope\"\n  hint: Facts has blank, list, os, ver, zone; if the key may be missing, write Facts.nope ?? DEFAULT\n"+
		"data.yaml:2:39: missing key \"Data.d\"\n  hint: did you mean \"a\"? if the key may be missing, write Data.d ?? DEFAULT")
	require.Nil(t, data)
	_, err = templates.ParseSource(templates.Parts{Files: []*yamlpos.Node{doc.Get("list")}})
	require.EqualError(t, err, "data.yaml:3:7: a file of \"vars_files\" must be a map, not a list\n  hint: write key: value")
}

// randomLayers returns the layers of a random source, and random layers over them as other programs of the same
// controller make them.
func randomLayers(t *testing.T, r *rand.Rand) []templates.Layer {
	layers, err := randomSource(r).parse(t).Layers(t.Context(), nil, nil)
	require.NoError(t, err)
	over, err := randomSource(r).parse(t).Layers(t.Context(), nil, nil)
	require.NoError(t, err)
	host := encoded(t, "hosts.yaml", randomMap(r, 3))
	return append(layers, templates.Stack("--hiera", over),
		templates.Layer{Name: "host web1", Values: host.Any().(map[string]any), Node: host},
		templates.Layer{Name: "-e", Values: randomMap(r, 1)})
}

// leaf is a layer that stands for itself, by its name.
func leaf(layers []templates.Layer, name string) *templates.Layer {
	for i := range layers {
		if layers[i].Name == name && len(layers[i].From) == 0 {
			return &layers[i]
		}
		if found := leaf(layers[i].From, name); found != nil {
			return found
		}
	}
	return nil
}

// eachPath visits every value below v but the root.
func eachPath(v any, path []string, visit func(path []string, v any)) {
	if len(path) > 0 {
		visit(path, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range render.SortedKeys(v) {
			eachPath(v[key], append(slices.Clone(path), key), visit)
		}
	case []any:
		for i, element := range v {
			eachPath(element, append(slices.Clone(path), strconv.Itoa(i)), visit)
		}
	}
}

// TestOriginsOfRandomLayers rebuilds every value from the values at its origins.
func TestOriginsOfRandomLayers(t *testing.T) {
	for seed := range uint64(500) {
		layers := randomLayers(t, rand.New(rand.NewPCG(seed, 2)))
		eachPath(templates.Merge(layers), nil, func(path []string, want any) {
			var parts []any
			for _, o := range templates.Origins(layers, path) {
				l := leaf(layers, o.Layer)
				require.NotNil(t, l, "seed %d: %s: layer %q", seed, path, o.Layer)
				if o.Node == nil {
					require.Equal(t, "-e", o.Layer)
					parts = append(parts, templates.ValueAt(l.Values, path))
				} else {
					require.Contains(t, nodesOf(l), o.Node, "seed %d: %s", seed, path)
					parts = append(parts, o.Node.Any())
				}
			}
			require.Equal(t, want, together(t, parts), "seed %d: %s", seed, path)
		})
	}
}

func nodesOf(l *templates.Layer) []any {
	var all []any
	eachPath(l.Values, nil, func(path []string, _ any) {
		n := l.Node
		for _, key := range path {
			n = templates.NodeBelow(n, key)
		}
		all = append(all, n)
	})
	return all
}

// together merges what several layers have at one path; of scalars there is one.
func together(t *testing.T, parts []any) any {
	require.NotEmpty(t, parts)
	sum := map[string]any{"x": parts[0]}
	for _, p := range parts[1:] {
		require.True(t, templates.Mergeable(sum["x"], p))
		sum = templates.DeepMerge(sum, map[string]any{"x": p})
	}
	return sum["x"]
}

func TestOrigins(t *testing.T) {
	doc := templatetest.Document(t, `
data:
  port: 80
  web: {a: 1, b: {c: 1}}
  list: [x, {y: 1}]
  made: "{{ Facts.list }}"
overrides:
  default:
    web: {b: {d: 2}}
    list: [z]
hierarchy: {order: [default], merge: deep}
`)
	source, err := templates.ParseSource(templates.Parts{Data: doc.Get("data"), Hierarchy: doc.Get("hierarchy"), Overrides: doc.Get("overrides")})
	require.NoError(t, err)
	layers, err := source.Layers(t.Context(), linuxFacts(), nil)
	require.NoError(t, err)
	layers = append(layers, templates.Stack("--hiera", layers[1:]), templates.Layer{Name: "-e", Values: map[string]any{"port": "8080"}})
	_, err = templates.Settle(t.Context(), linuxFacts(), nil, layers, nil)
	require.NoError(t, err)
	for _, c := range []struct{ path, want string }{
		{"port", "-e"},
		{"web.a", "data data.yaml:4:12"},
		{"web.b.c", "data data.yaml:4:22"},
		{"web.b.d", "--hiera overrides default data.yaml:9:18"},
		{"web.b", "data data.yaml:4:18, overrides default data.yaml:9:14, --hiera overrides default data.yaml:9:14"},
		{"list", "data data.yaml:5:9, overrides default data.yaml:10:11, --hiera overrides default data.yaml:10:11"},
		{"list.0", "data data.yaml:5:10"},
		{"list.1.y", "data data.yaml:5:17"},
		{"list.2", "overrides default data.yaml:10:12"},
		{"list.3", "--hiera overrides default data.yaml:10:12"},
		{"made", "data data.yaml:6:9"},
		{"made.1", "data data.yaml:6:9"},
		{"", "data data.yaml:3:3, overrides default data.yaml:9:5, --hiera overrides default data.yaml:9:5, -e"},
		{"nope", ""}, {"port.x", ""}, {"list.4", ""}, {"list.-1", ""}, {"list.x", ""}, {"web.b.x", ""},
	} {
		t.Run(c.path, func(t *testing.T) {
			path := strings.FieldsFunc(c.path, func(r rune) bool { return r == '.' })
			var got []string
			for _, o := range templates.Origins(layers, path) {
				text := o.Layer
				if o.Node != nil {
					text += " " + o.Node.Pos()
				}
				got = append(got, text)
			}
			require.Equal(t, c.want, strings.Join(got, ", "))
		})
	}
}
