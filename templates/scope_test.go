package templates_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// scopeLayer parses a layer of data, such as the vars of a block.
func scopeLayer(t testing.TB, name, text string) templates.Layer {
	t.Helper()
	documents, err := yamlpos.Parse(name, []byte(text))
	require.NoError(t, err)
	open := func(n *yamlpos.Node) bool { return templates.HasExpr(n.Text) }
	source, err := templates.ParseVars(documents[0], name, open, func(n *yamlpos.Node) (*templates.Text, error) {
		return templates.Parse(n.Text, templates.At(n))
	})
	require.NoError(t, err)
	layers, err := source.Layers(t.Context(), nil, nil)
	require.NoError(t, err)
	return layers[0]
}

// TestScopesFollowAsText compares scopes with a model: random values that are concatenations of other values, and random
// overrides in nested scopes, evaluated by replacing texts.
func TestScopesFollowAsText(t *testing.T) {
	g := rand.New(rand.NewPCG(39, 1))
	const keys = 12
	name := func(i int) string { return fmt.Sprintf("k%02d", i) }
	// value returns a random value that reads only keys below i, so that there is no circle.
	value := func(i int, letter string) string {
		parts := []string{letter}
		for range g.IntN(3) {
			if i > 0 {
				parts = append(parts, "{{ Data."+name(g.IntN(i))+" }}")
			}
		}
		return strings.Join(parts, "")
	}
	for range 300 {
		model := map[string]string{}
		var text strings.Builder
		for i := range keys {
			model[name(i)] = value(i, "a")
			fmt.Fprintf(&text, "%s: '%s'\n", name(i), model[name(i)])
		}
		s, err := templates.NewScope(t.Context(), &templates.Env{}, []templates.Layer{scopeLayer(t, "data", text.String())}, templates.ScopeOptions{})
		require.NoError(t, err)
		scopes, models := []*templates.Scope{s}, []map[string]string{model}
		for depth := range 6 {
			from := g.IntN(len(scopes)) // siblings, and scopes within scopes
			inner := map[string]string{}
			for key, value := range models[from] {
				inner[key] = value
			}
			text.Reset()
			for i := range keys {
				if g.IntN(5) == 0 {
					inner[name(i)] = value(i, string(rune('b'+depth)))
					fmt.Fprintf(&text, "%s: '%s'\n", name(i), inner[name(i)])
				}
			}
			if text.Len() == 0 {
				continue
			}
			s, err := scopes[from].Inner(t.Context(), &templates.Env{}, scopeLayer(t, "vars", text.String()))
			require.NoError(t, err)
			scopes, models = append(scopes, s), append(models, inner)
		}
		for i, s := range scopes { // also the outer scopes, after the inner ones
			for key := range model {
				require.Equal(t, replaced(models[i], "{{ Data."+key+" }}"), s.Data()[key], "scope %d, %s of %v", i, key, models[i])
			}
		}
	}
}

// replaced replaces all references by texts.
func replaced(model map[string]string, text string) string {
	for strings.Contains(text, "{{") {
		for key, value := range model {
			text = strings.ReplaceAll(text, "{{ Data."+key+" }}", value)
		}
	}
	return text
}

// TestScopesShareValues checks that a scope evaluates a value again only if it changes something that the value reads.
func TestScopesShareValues(t *testing.T) {
	layers := []templates.Layer{scopeLayer(t, "data", "a: 1\nrandom: '{{ now().UnixNano() }}'\nold: '{{ Data.random }}'\nnew: '{{ Data.random }} {{ Data.a }}'\ntime: '{{ now().UnixNano() }}{{ Data.a }}'")}
	s, err := templates.NewScope(t.Context(), &templates.Env{}, layers, templates.ScopeOptions{})
	require.NoError(t, err)
	inner, err := s.Inner(t.Context(), &templates.Env{}, scopeLayer(t, "vars", "a: 2"))
	require.NoError(t, err)
	require.Equal(t, s.Data()["random"], inner.Data()["random"])
	require.Equal(t, s.Data()["old"], inner.Data()["old"])
	require.Equal(t, strings.TrimSuffix(s.Data()["new"].(string), "1")+"2", inner.Data()["new"])
	require.NotEqual(t, s.Data()["time"], inner.Data()["time"])
	require.Equal(t, []string{"a", "new", "time"}, inner.Own())

	same, err := inner.Inner(t.Context(), &templates.Env{Item: "x", HasItem: true})
	require.NoError(t, err)
	require.Equal(t, inner.Data(), same.Data(), "nothing reads Item")
	require.Empty(t, same.Own())
}

// TestScopeErrors has values that need themselves.
func TestScopeErrors(t *testing.T) {
	for _, c := range []struct{ name, data, vars, want string }{
		{"a circle through an inner scope", "a: 1\nb: '{{ Data.a }}'", "a: '{{ Data.b }}'", `data:2:5: data refers to itself: b (data:2:4) needs a (vars:1:4) needs b
  hint: give one of these keys a value that does not need the other keys; -e and the inventory override the values`},
		{"a value of itself", "a: 1", "a: '{{ Data.a }}x'", `vars:1:5: data refers to itself: a (vars:1:4) needs a
  hint: give one of these keys a value that does not need the other keys; -e and the inventory override the values`},
	} {
		s, err := templates.NewScope(t.Context(), &templates.Env{}, []templates.Layer{scopeLayer(t, "data", c.data)}, templates.ScopeOptions{})
		require.NoError(t, err)
		_, err = s.Inner(t.Context(), &templates.Env{}, scopeLayer(t, "vars", c.vars))
		require.EqualError(t, err, c.want, c.name)
	}
}

// TestScopeUsesWhatItHas has values that fail only where they are used.
func TestScopeUsesWhatItHas(t *testing.T) {
	options := templates.ScopeOptions{Later: []string{"x"}, Items: true}
	layers := []templates.Layer{scopeLayer(t, "data", "a: '{{ Data.x }}'\nb: '{{ Data.a }}!'\nc: '{{ Item }}'\nd: 1")}
	s, err := templates.NewScope(t.Context(), &templates.Env{}, layers, options)
	require.NoError(t, err)
	read := func(s *templates.Scope, text string) (any, error) {
		one, err := templates.Parse(text, templates.Position{File: "site.yaml", Line: 9, Column: 1})
		require.NoError(t, err)
		return one.Eval(t.Context(), &templates.Env{Data: s.Data()})
	}
	_, err = read(s, "{{ Data.b }}")
	require.EqualError(t, err, "site.yaml:9:9: Data.b has no value here: missing key \"Data.x\" (data:1:13)\n  hint: did you mean \"a\"? if the key may be missing, write Data.x ?? DEFAULT")
	_, err = read(s, "{{ Data.c }}")
	require.EqualError(t, err, "site.yaml:9:9: Data.c has no value here: \"Item\" is not available here: only resources with the key \"each\" have an item (data:3:8)\n  hint: available: Facts, Data")
	value, err := read(s, "{{ Data.d }}")
	require.NoError(t, err)
	require.Equal(t, int64(1), value)

	inner, err := s.Inner(t.Context(), &templates.Env{Item: "i", HasItem: true}, scopeLayer(t, "vars", "x: 2"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": int64(2), "b": "2!", "c": "i", "d": int64(1), "x": int64(2)}, inner.Data())

	layers = []templates.Layer{scopeLayer(t, "data", "a: '{{ Data.y }}'\nb: '{{ Data.x }}'")}
	_, err = templates.NewScope(t.Context(), &templates.Env{}, layers, options)
	require.EqualError(t, err, "data:1:13: missing key \"Data.y\"\n  hint: did you mean \"a\"? if the key may be missing, write Data.y ?? DEFAULT")
}

// TestScopesAreBounded has a chain of values that is too long only in an inner scope, and values that grow in many scopes.
func TestScopesAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "k%d: \"{{ Data.on ? Data.k%d : 1 }}\"\n", i, i+1)
	}
	text.WriteString("k300: 1\non: false\n")
	s, err := templates.NewScope(t.Context(), &templates.Env{}, []templates.Layer{scopeLayer(t, "data", text.String())}, templates.ScopeOptions{})
	require.NoError(t, err)
	inner, err := s.Inner(t.Context(), &templates.Env{}, scopeLayer(t, "vars", "on: true"))
	require.NoError(t, err)
	one, err := templates.Parse("{{ Data.k0 }}", templates.Position{File: "site.yaml", Line: 9, Column: 1})
	require.NoError(t, err)
	_, err = one.Eval(t.Context(), &templates.Env{Data: inner.Data()})
	require.ErrorContains(t, err, "more than 200 levels deep")

	s, err = templates.NewScope(t.Context(), &templates.Env{}, []templates.Layer{scopeLayer(t, "data", "n: 1\nlong: \"{{ repeat('x', 500000) }}{{ Data.n }}\"")}, templates.ScopeOptions{})
	require.NoError(t, err)
	for range 1200 {
		if _, err = s.Inner(t.Context(), &templates.Env{}, scopeLayer(t, "vars", "n: 2")); err != nil {
			break
		}
	}
	require.ErrorContains(t, err, "the data of all blocks, elements and resources of one host grows beyond 512 MiB")
}
