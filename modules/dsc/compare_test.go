package dsc

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func decode(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	return decode(t, text).(map[string]any)
}

func TestDiff(t *testing.T) {
	for _, test := range []struct {
		name, wanted, actual string
		want                 []string
	}{
		{"equal", `{"a": 1}`, `{"a": 1}`, nil},
		{"more is there", `{"a": 1}`, `{"a": 1, "b": 2}`, nil},
		{"another number", `{"a": 1}`, `{"a": 2}`, []string{"a"}},
		{"types count", `{"a": 5}`, `{"a": "5"}`, []string{"a"}},
		{"booleans are no texts", `{"a": true}`, `{"a": "true"}`, []string{"a"}},
		{"case counts", `{"a": "x"}`, `{"a": "X"}`, []string{"a"}},
		{"numbers by value", `{"a": 1.0, "b": 1e2, "c": 0.1}`, `{"a": 1, "b": 100, "c": 1e-1}`, nil},
		{"large numbers", `{"a": 9007199254740993}`, `{"a": 9007199254740992}`, []string{"a"}},
		{"hopeless numbers", `{"a": 1e-99999999}`, `{"a": 0}`, []string{"a"}},
		{"missing", `{"a": null}`, `{}`, []string{"a"}},
		{"null", `{"a": null}`, `{"a": null}`, nil},
		{"missing _exist is true", `{"_exist": true}`, `{}`, nil},
		{"null _exist is true", `{"_exist": true}`, `{"_exist": null}`, nil},
		{"it is not there", `{"_exist": true, "a": 1}`, `{"_exist": false}`, []string{"_exist", "a"}},
		{"object", `{"a": {"b": 1}}`, `{"a": {"b": 1, "c": 2}}`, nil},
		{"within an object", `{"a": {"b": {"c": 1}}}`, `{"a": {"b": {"c": 2}}}`, []string{"a"}},
		{"_exist within an object", `{"a": {"_exist": true}}`, `{"a": {}}`, nil},
		{"object and text", `{"a": {}}`, `{"a": "x"}`, []string{"a"}},
		{"list in any order", `{"a": [1, 2]}`, `{"a": [2, 1]}`, nil},
		{"lists as multisets", `{"a": [1, 1, 2]}`, `{"a": [2, 1, 2]}`, []string{"a"}},
		{"shorter list", `{"a": [1]}`, `{"a": [1, 1]}`, []string{"a"}},
		{"lists in lists", `{"a": [[1, 2], [3]]}`, `{"a": [[3], [2, 1]]}`, nil},
		{"list of objects", `{"a": [{"n": 1}, {"n": 2}]}`, `{"a": [{"n": 2, "m": 0}, {"n": 1}]}`, nil},
		{"one element covers both", `{"a": [{}, {"n": 1}]}`, `{"a": [{"n": 1}, {"n": 2}]}`, nil},
		{"the greedy way fails", `{"a": [{"n": 1}, {"n": 1, "m": 1}]}`, `{"a": [{"n": 1, "m": 1}, {"n": 1}]}`, nil},
		{"list and text", `{"a": []}`, `{"a": ""}`, []string{"a"}},
		{"$schema does not count", `{"$schema": "x"}`, `{}`, nil},
		{"unless it is an object", `{"$schema": {}}`, `{}`, []string{"$schema"}},
		{"no object", `{"b": 1, "a": 1}`, `[]`, []string{"a", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, (rules{}).diff(object(t, test.wanted), decode(t, test.actual)))
		})
	}
}

func TestRules(t *testing.T) {
	fold := rules{foldCase: true}
	require.Empty(t, fold.diff(object(t, `{"a": "x", "b": {"c": ["Y"]}}`), decode(t, `{"a": "X", "b": {"c": ["y"]}}`)))
	skip := rules{skip: func(name string, _ any) bool { return name == "secret" }}
	require.Equal(t, []string{"a"}, skip.diff(object(t, `{"a": 1, "secret": 2}`), decode(t, `{}`)))
	def := rules{otherwise: func(name string) any { return map[string]any{"a": json.Number("1")}[name] }}
	require.Equal(t, []string{"b"}, def.diff(object(t, `{"a": 1, "b": 1}`), decode(t, `{}`)))
	require.Equal(t, []string{"a"}, def.diff(object(t, `{"a": 2}`), decode(t, `{}`)))
}

func TestChanged(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", `{"a": [1, 2]}`, `{"a": [2, 1]}`, nil},
		{"lost", `{"a": 1, "b": 1}`, `{"a": 1}`, []string{"b"}},
		{"gained", `{"a": 1}`, `{"a": 1, "b": 1}`, []string{"b"}},
		{"lost within", `{"a": {"x": 1, "y": 2}}`, `{"a": {"x": 1}}`, []string{"a"}},
		{"purged", `{"a": ["x", "y"]}`, `{"a": ["x"]}`, []string{"a"}},
		{"null and missing", `{"a": null}`, `{}`, []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, changed(object(t, test.before), object(t, test.after)))
			require.Equal(t, test.want, changed(object(t, test.after), object(t, test.before)), "the other way round")
		})
	}
	require.Equal(t, []string{"a"}, changed(nil, map[string]any{"a": 1}))
}

// random makes a value.
func random(r *rand.Rand, depth int) any {
	switch n := r.IntN(7); {
	case n == 0 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[string(rune('a'+r.IntN(4)))] = random(r, depth-1)
		}
		return m
	case n == 1 && depth > 0:
		var list []any
		for range r.IntN(4) {
			list = append(list, random(r, depth-1))
		}
		return list
	case n == 2:
		return nil
	case n == 3:
		return r.IntN(2) == 0
	case n == 4:
		return json.Number([]string{"0", "1", "1.0", "2.5"}[r.IntN(4)])
	}
	return string(rune('x' + r.IntN(3)))
}

// shuffled returns the same value with its lists in random order.
func shuffled(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for to, from := range r.Perm(len(v)) {
			list[to] = shuffled(r, v[from])
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for key, item := range v {
			m[key] = shuffled(r, item)
		}
		return m
	}
	return v
}

// TestLaws checks that a value matches itself, in any order and with additional members, and that comparing in both
// directions finds a change only in the last case.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		m, ok := random(r, 4).(map[string]any)
		if !ok {
			continue
		}
		other := shuffled(r, m).(map[string]any)
		require.Empty(t, (rules{}).diff(m, other), "%v %v", m, other)
		require.Empty(t, changed(m, other), "%v %v", m, other)
		other["more"] = 1
		require.Empty(t, (rules{}).diff(m, other))
		require.Equal(t, []string{"more"}, changed(m, other))
	}
}

// TestManyEqual compares long lists whose elements could all match each other: trying all pairs would take the third
// power of their number.
func TestManyEqual(t *testing.T) {
	const many = 5000
	a, b := make([]any, many), make([]any, many)
	for i := range a {
		a[i], b[i] = "x", "x"
	}
	require.Empty(t, (rules{}).diff(map[string]any{"l": a}, map[string]any{"l": b}))
	b[many-1] = "y"
	require.Equal(t, []string{"l"}, (rules{}).diff(map[string]any{"l": a}, map[string]any{"l": b}))
}
