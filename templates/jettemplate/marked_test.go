package jettemplate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// rendered renders a Jet template as YAML and returns the values of its scalars, keys included.
func rendered(t *testing.T, source string, env *templates.Env) (*templates.Marked, *yamlpos.Node) {
	tmpl, err := templates.ParseJet(source, diag.WholeFile("r.jet"), templates.Delims{}, env.Files)
	require.NoError(t, err)
	m, err := tmpl.RenderMarked(t.Context(), env)
	require.NoError(t, err)
	docs, err := yamlpos.Parse("r.jet", []byte(m.Text))
	require.NoError(t, err)
	require.Len(t, docs, 1)
	return m, docs[0]
}

func TestMarkedValuesKeepTheirTypes(t *testing.T) {
	env := &templates.Env{Data: map[string]any{
		"n": int64(5), "s": "a: [b", "l": []any{int64(1), "x"}, "m": map[string]any{"k": true}, "e": "{{ Data.n }}",
	}}
	m, doc := rendered(t, `
n: [[ Data.n ]]
quoted: "[[ Data.n ]]"
text: a [[ Data.s ]] b
list: [[ Data.l ]]
map: [[ Data.m ]]
block: |
  x
  [[ Data.s ]]
mixed: [[ Data.n ]]-{{ Data.n + 1 }}-[[ Data.e ]]
[[ Data.s ]]: key
expr: "{{ Data.n + 1 }}"
`, env)
	got := map[string]any{}
	for _, p := range doc.Pairs {
		key, err := templates.ParseMarked(m, p.Key.Text, diag.PositionOf(p.Key), p.Key.Quoted)
		require.NoError(t, err)
		name, err := key.String(t.Context(), env)
		require.NoError(t, err)
		value, err := templates.ParseMarked(m, p.Value.Text, diag.PositionOf(p.Value), p.Value.Quoted)
		require.NoError(t, err)
		got[name], err = value.Eval(t.Context(), env)
		require.NoError(t, err)
	}
	require.Equal(t, map[string]any{
		"n": int64(5), "quoted": "5", "text": "a a: [b b", "list": []any{int64(1), "x"}, "map": map[string]any{"k": true},
		"block": "x\na: [b\n", "mixed": "5-6-{{ Data.n }}", "a: [b": "key", "expr": int64(6),
	}, got)
}

// everyPlace prints a value wherever YAML takes one.
const everyPlace = `- plain: [[ Facts.evil ]]
  single: '[[ Facts.evil ]]'
  double: "[[ Facts.evil ]]"
  flow: {a: [[ Facts.evil ]], b: [ [[ lookup("facts.evil") ]] ]}
  block: |-
    [[ Facts.evil ]]
  beside: '{{ "x" }}[[ Facts.evil ]]'
`

// verbatim holds that a value comes out of a document as it went in.
func verbatim(t *testing.T, value string) {
	env := &templates.Env{Facts: map[string]any{"evil": value}, Data: map[string]any{"secret": "S"}}
	m, doc := rendered(t, everyPlace, env)
	count := 0
	_, err := doc.Map(func(n *yamlpos.Node) (*yamlpos.Node, error) {
		count++
		text, err := templates.ParseMarked(m, n.Text, diag.PositionOf(n), n.Quoted)
		require.NoError(t, err)
		require.True(t, text.FromHost(templates.Taint{}))
		got, err := text.String(t.Context(), env)
		require.NoError(t, err)
		want := value
		if count == 7 {
			want = "x" + value
		}
		require.Equal(t, want, got)
		return n, nil
	})
	require.NoError(t, err)
	require.Equal(t, 7, count)
}

func TestMarkedPayloads(t *testing.T) {
	for _, payload := range templatetest.Payloads() {
		verbatim(t, payload)
	}
}

func FuzzMarkedValue(f *testing.F) {
	for _, payload := range templatetest.Payloads() {
		f.Add(payload)
	}
	f.Fuzz(verbatim)
}

// FuzzMarked writes a document with any template, and reads it.
func FuzzMarked(f *testing.F) {
	for _, c := range append(jetCases(), jetErrorCases()...) {
		f.Add("a: "+c.source, "x")
	}
	for _, payload := range templatetest.Payloads() {
		f.Add(everyPlace, payload)
		f.Add("a: [[ Facts.evil ]]"+payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		tmpl, err := templates.ParseJet(source, diag.WholeFile("fuzz.jet"), templates.Delims{}, nil)
		if err != nil {
			return
		}
		env := templatetest.HostileHost(value)
		m, err := tmpl.RenderMarked(templatetest.Expiring(t.Context(), 2000), env)
		if err != nil {
			templatetest.CheckFuzzed(t, source, value, nil, err)
			return
		}
		docs, err := yamlpos.Parse("fuzz", []byte(m.Text))
		if err != nil {
			return
		}
		for _, doc := range docs {
			_, err := doc.Map(func(n *yamlpos.Node) (*yamlpos.Node, error) {
				text, err := templates.ParseMarked(m, n.Text, diag.PositionOf(n), n.Quoted)
				if err != nil {
					return n, nil
				}
				out, err := text.Eval(templatetest.Expiring(t.Context(), 2000), env)
				templatetest.CheckFuzzed(t, source, value, out, err)
				return n, nil
			})
			require.NoError(t, err)
		}
	})
}

// TestMarkedNested renders parts of a document by other templates: their text is one value of it.
func TestMarkedNested(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"part.jet": "x=[[ Facts.x ]]", "part.templ": "{{ jet('part.jet') }} {{ Facts.x }}", "part.gotmpl": "{{ .Facts.x }}",
	})
	env := &templates.Env{Facts: map[string]any{"x": "a: [b"}, Data: map[string]any{}, Files: files}
	m, doc := rendered(t, `[ [[ jet("part.jet") ]], '[[ template("part.templ") ]]', "[[ template("part.gotmpl") ]]-[[ Facts.x ]]", [[ jet("[[ Facts.x ]]") ]] ]`, env)
	var got []string
	for _, item := range doc.Items {
		text, err := templates.ParseMarked(m, item.Text, diag.PositionOf(item), item.Quoted)
		require.NoError(t, err)
		s, err := text.String(t.Context(), env)
		require.NoError(t, err)
		got = append(got, s)
	}
	require.Equal(t, []string{"x=a: [b", "x=a: [b a: [b", "a: [b-a: [b", "a: [b"}, got)
}

func TestMarkedErrors(t *testing.T) {
	env := &templates.Env{Facts: map[string]any{"x": "v"}, Data: map[string]any{"nil": nil}}
	for source, want := range map[string]string{
		"a: [[ Data.nope ]]": "r.jet:1:7: missing key \"Data.nope\"\n  hint: Data has nil; to test whether the key exists, write isset(Data.nope)",
		"a: [[ Data.nil ]]":  "r.jet:1:7: nil in a document\n  hint: isset(…) tests for it, or give a default",
		"a: ·value·0·value·": "r.jet:1:1: only a Jet template without \"·value·\" in it can write a document",
	} {
		tmpl, err := templates.ParseJet(source, diag.WholeFile("r.jet"), templates.Delims{}, nil)
		require.NoError(t, err)
		_, err = tmpl.RenderMarked(t.Context(), env)
		require.EqualError(t, err, want)
	}
	m, doc := rendered(t, `a: "{{ file('[[ Facts.x ]]') }}"`, env)
	_, err := templates.ParseMarked(m, doc.Pairs[0].Value.Text, diag.PositionOf(doc.Pairs[0].Value), true)
	require.EqualError(t, err, "r.jet:1:5: a printed value cannot be part of the expression \" file('[[…]]') \"\n"+
		"  hint: use Data or Facts in the expression itself, such as Facts.x == 'y'")
}
