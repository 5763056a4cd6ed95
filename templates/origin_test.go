package templates_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// randomLayers are those of a source, as they lie below some that other programs
// of the same controller make.
func randomLayers(t *testing.T, r *rand.Rand) []templates.Layer {
	layers, err := randomSource(r).parse(t).Layers(t.Context(), nil)
	require.NoError(t, err)
	over, err := randomSource(r).parse(t).Layers(t.Context(), nil)
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

// TestOriginsOfRandomLayers puts every value together again from what stands at
// its origins.
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
	layers, err := source.Layers(t.Context(), linuxFacts())
	require.NoError(t, err)
	layers = append(layers, templates.Stack("--hiera", layers[1:]), templates.Layer{Name: "-e", Values: map[string]any{"port": "8080"}})
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
