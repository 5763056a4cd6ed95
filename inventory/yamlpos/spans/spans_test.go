package spans

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// values shows what Find finds: path, tag and the bytes of each value.
func values(t *testing.T, text string) (found []string) {
	t.Helper()
	spans, err := Find("f.yaml", []byte(text))
	require.NoError(t, err)
	for _, s := range spans.Scalars {
		found = append(found, s.Path.String()+" = "+text[s.Start:s.End])
	}
	return found
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a: 1 # one\nb:   two words   # two\n", "a = 1|b = two words"},
		{"tags", "a: !secret x\nb: !secret \"y: #\" # c\nc: !secret 'it''s'\nd: !secret\ne: &n !secret z\nf: !secret &m z\n",
			`a = !secret x|b = !secret "y: #"|c = !secret 'it''s'|d = !secret|e = &n !secret z|f = !secret &m z`},
		{"value below", "a: !secret\n  # why\n  x\nb: 2\n", "a = !secret\n  # why\n  x|b = 2"},
		{"block", "a: !secret |\n  one\n\n  two\n\nb: >-\n  x\n  y\nc: |\nd: 1\n", "a = !secret |\n  one\n\n  two|b = >-\n  x\n  y|c = ||d = 1"},
		{"many lines", "a: one\n  two\nb: \"x\\\"\n  y\"\n", "a = one\n  two|b = \"x\\\"\n  y\""},
		{"flow", "a: {b: !secret x, c: [1, 'two', !secret z]}\n", "a.b = !secret x|a.c[0] = 1|a.c[1] = 'two'|a.c[2] = !secret z"},
		{"lists", "- x\n- k: !secret v\n  l: w\n-\n  - deep\n", "[0] = x|[1].k = !secret v|[1].l = w|[2][0] = deep"},
		{"documents", "a: 1\n---\na: !secret 2\n", "a = 1|#1.a = !secret 2"},
		{"aliases and merges", "base: &b {p: !secret x}\nuse: {<<: *b, q: *b}\n", "base.p = !secret x"},
		{"other characters", "ä: !secret ö\n\"ü.\": !secret \"ß\"\n", "\"ä\" = !secret ö|\"ü.\" = !secret \"ß\""},
		{"windows", "a: !secret x\r\nb: |\r\n  one\r\n  two\r\nc: 3\r\n", "a = !secret x|b = |\r\n  one\r\n  two|c = 3"},
		{"mark at the beginning", "\ufeffa: !secret x\nb: y\n", "a = !secret x|b = y"},
		{"verbatim", "a: !<!secret> x\n", "a = !<!secret> x"},
		{"nothing", "a:\nb: ''\nc: ~\n", "b = ''|c = ~"},
		{"marker", "--- !secret x\n", " = !secret x"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, strings.Join(values(t, c.text), "|"))
		})
	}
}

func TestFindCollections(t *testing.T) {
	text := "a: !secret {b: x, c: [y]}\nd: &n !secret\n  e: z\nf: {}\ng:\n  - h: 1\n"
	spans, err := Find("f.yaml", []byte(text))
	require.NoError(t, err)
	got := map[string]Collection{}
	for _, c := range spans.Collections {
		got[c.Path.String()] = c
	}
	require.Equal(t, "!secret", text[got["a"].TagStart:got["a"].TagEnd])
	require.Equal(t, "!secret", text[got["d"].TagStart:got["d"].TagEnd])
	require.Equal(t, []string{"b", "c"}, got["a"].Keys)
	require.Equal(t, "{}", text[got["f"].Start:][:2])
	require.Equal(t, "h: 1", text[got["g[0]"].First:][:4])
	require.Equal(t, 5, got["g[0]"].Column)
	require.Equal(t, 3, got["g"].Column)
	for _, s := range spans.Scalars {
		want := ""
		if path := s.Path.String(); path[0] == 'a' || path[0] == 'd' {
			want = "!secret"
		}
		require.Equal(t, want, s.Around, s.Path)
	}
}

func TestFindErrors(t *testing.T) {
	_, err := Find("f.yaml", []byte("a: [\n"))
	require.ErrorContains(t, err, "f.yaml:")
}

// texts are hard to write.
var texts = []string{
	"", " ", "x", "two words", "it's", `"`, "a\nb", "a\nb\n", "a\n\nb", " a\nb", "a \nb", "\n", "a\n\n", "#x\n: y", "- a\n- b", "a: b", "null", "5",
	"ä\nö\n", "a\tb", "\x00\x01", "\u007f\u0085\u2028\ufeff\ue000", "\U0001f600", "[x]", "{{ y }}", "!x", "&x", "*x", "|\n|", "---\n---", "...\nx", "%a\nb", "`", "@a", "=",
}

// TestWritten writes values in place of others and finds them again, and all else unchanged.
func TestWritten(t *testing.T) {
	for _, around := range []string{"a: !secret V\n", "a: !secret V # why\nb: 1\n", "a: {b: !secret V, c: 2}\n", "- x: !secret V\n  y: 1\n", "- !secret V\n- 2\n", "a:\n- !secret V\n", "a:\n    b:\n        c: !secret V\n    d: 1\n", "!secret V\n", "a: &n !secret V\nb: *n\n", "a: !secret V", "- - !secret V\n  - 2\n"} {
		for _, value := range texts {
			before, err := Find("f.yaml", []byte(around))
			require.NoError(t, err)
			var s Scalar
			for _, s = range before.Scalars {
				if s.Tag == "!secret" {
					break
				}
			}
			after := Apply(before.Bytes, []Change{{s.Start, s.End, s.Written("!secret", value)}})
			found, err := Find("f.yaml", after)
			require.NoError(t, err, "%q", after)
			require.Len(t, found.Scalars, len(before.Scalars), "%q", after)
			for i, one := range found.Scalars {
				require.Equal(t, before.Scalars[i].Path, one.Path)
				if one.Tag != "!secret" {
					require.Equal(t, before.Scalars[i].Value, one.Value)
					continue
				}
				require.Equal(t, value, one.Value, "%q", after)
				again := Apply(after, []Change{{one.Start, one.End, string(before.Bytes[s.Start:s.End])}})
				require.Equal(t, around, string(again), "what was written is taken back")
			}
		}
	}
}

func TestQuotedKey(t *testing.T) {
	for key, want := range map[string]string{"a_b": "a_b", "yes": `"yes"`, "5": `"5"`, "a b": `"a b"`, "": `""`, "a.b": "a.b", "-a": `"-a"`} {
		require.Equal(t, want, QuotedKey(key))
	}
}

// ages opens nothing: it has values with !age be kept.
type ages struct{}

func (ages) Seals(tag string) bool                            { return tag == "!age" }
func (ages) Check(*yamlpos.Node) error                        { return nil }
func (ages) Value(*yamlpos.Node) (string, error)              { return "", nil }
func (ages) File(_ string, data []byte) ([]byte, bool, error) { return data, false, nil }

// sealed are the paths of values with !age as [yamlpos.Parse] has them.
func sealed(n *yamlpos.Node, paths map[string]string) {
	if n.Sealed != nil {
		paths[n.Sealed.Path.String()] = n.Text
	}
	for _, item := range n.Items {
		sealed(item, paths)
	}
	for _, p := range n.Pairs {
		sealed(p.Value, paths)
	}
}

var pathTexts = []string{
	"a: !age x\nb: [!age y, {c: !age 'z'}]\n", "base: &b {x: !age x}\nuse: {<<: *b, q: *b}\n", "<<: {x: !age x}\ny: !age y\n", "--- !age x\n---\n- !age y\n",
	"k: &k name\n*k : !age x\n", "~: !age x\n1: !age y\n\"a.b\": !age z\n", "a: &x !age v\nb: *x\n", "? k\n: !age x\n", "a: !age\nb: !age ''\n", "<<: [{x: !age x}, {y: !age y}]\n",
}

// samePaths checks that [Find] finds the encrypted values of [yamlpos.Parse] under the same paths.
func samePaths(t *testing.T, text string) {
	t.Helper()
	documents, err := yamlpos.Parse("f.yaml", []byte(text), yamlpos.Secrets(), yamlpos.KeepSealed(ages{}))
	if err != nil {
		return
	}
	found, err := Find("f.yaml", []byte(text))
	if err != nil {
		return
	}
	want, got := map[string]string{}, map[string]string{}
	for _, d := range documents {
		sealed(d, want)
	}
	for _, s := range found.Scalars {
		if s.Tag == "!age" {
			got[s.Path.String()] = s.Value
		}
	}
	for path, value := range want { // got may have more: values that other keys replace
		require.Contains(t, got, path, "%q", text)
		require.Equal(t, value, got[path], "%q", text)
	}
}

func TestPathsAreThoseOfTheParser(t *testing.T) {
	for _, text := range pathTexts {
		documents, err := yamlpos.Parse("f.yaml", []byte(text), yamlpos.Secrets(), yamlpos.KeepSealed(ages{}))
		require.NoError(t, err, text)
		paths := map[string]string{}
		for _, d := range documents {
			sealed(d, paths)
		}
		require.NotEmpty(t, paths, text)
		samePaths(t, text)
	}
}

func FuzzPaths(f *testing.F) {
	for _, text := range pathTexts {
		f.Add(text)
	}
	f.Fuzz(samePaths)
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{"a: !secret x\nb: [1, {c: 'd'}]\n", "- |\n  x\n- >-\n y\n", "? a\n: b\n", "a: &x !y\n  - z\n", "--- !a b\n...\n--- c\n"} {
		f.Add(text, "v")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		found, err := Find("f.yaml", []byte(text))
		if err != nil {
			return
		}
		last := 0
		for _, s := range found.Scalars {
			require.LessOrEqual(t, s.Start, s.End)
			require.LessOrEqual(t, s.End, len(text))
			_ = s.Written("!x", value)
			last = max(last, s.End)
		}
		for _, c := range found.Collections {
			require.LessOrEqual(t, c.First, len(text))
		}
	})
}
