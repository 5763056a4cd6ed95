package yamlpos

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func parseOne(t testing.TB, text string) *Node {
	t.Helper()
	nodes, err := Parse("f.yml", []byte(text))
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	return nodes[0]
}

func TestScalars(t *testing.T) {
	for _, tt := range []struct {
		text   string
		source string
		value  any
		quoted bool
	}{
		{"0644", "0644", int64(420), false},
		{"0o17", "0o17", int64(15), false},
		{"0x1f", "0x1f", int64(31), false},
		{"-12", "-12", int64(-12), false},
		{"1_000", "1_000", int64(1000), false},
		{"9223372036854775807", "9223372036854775807", int64(math.MaxInt64), false},
		{"9223372036854775808", "9223372036854775808", float64(1 << 63), false},
		{"99999999999999999999", "99999999999999999999", 1e20, false},
		{"1.50", "1.50", 1.5, false},
		{"1e3", "1e3", 1000.0, false},
		{".inf", ".inf", math.Inf(1), false},
		{"yes", "yes", "yes", false},
		{"on", "on", "on", false},
		{"1:30", "1:30", "1:30", false},
		{"2024-01-02", "2024-01-02", "2024-01-02", false},
		{"True", "True", true, false},
		{"~", "~", nil, false},
		{"null", "null", nil, false},
		{`"5"`, "5", "5", true},
		{"'a''b'", "a'b", "a'b", true},
		{`""`, "", "", true},
		{"|\n  a\n  b\n", "a\nb\n", "a\nb\n", true},
		{">-\n  a\n  b\n", "a b", "a b", true},
		{"!!str 5", "5", "5", true},
		{"!!int \"5\"", "5", int64(5), false},
		{"!!float 5", "5", 5.0, false},
		{"plain text # comment", "plain text", "plain text", false},
	} {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, &Node{File: "f.yml", Line: 1, Column: 1, Text: tt.source, Value: tt.value, Quoted: tt.quoted},
				withoutComment(parseOne(t, tt.text)))
		})
	}
}

func withoutComment(n *Node) *Node {
	bare := *n
	bare.Comment = ""
	return &bare
}

func TestDocuments(t *testing.T) {
	for text, want := range map[string][]any{
		"":                    {},
		"# comment\n":         {},
		"---\n":               {nil},
		"a: 1\n---\n- b\n":    {map[string]any{"a": int64(1)}, []any{"b"}},
		"---\n---\na: 1\n---": {nil, map[string]any{"a": int64(1)}, nil},
	} {
		nodes, err := Parse("f.yml", []byte(text))
		require.NoError(t, err)
		plain := []any{}
		for _, n := range nodes {
			plain = append(plain, n.Any())
		}
		require.Equal(t, want, plain, "%q", text)
	}
}

func TestMergeKeysAndAliases(t *testing.T) {
	n := parseOne(t, `
base: &base {a: 1, b: 2}
more: &more {b: 3, c: 4}
first: {<<: *base, b: own}
last: {b: own, <<: *base}
both: {<<: [*base, *more], d: 5}
list: [*base, *base]
`)
	keys := func(n *Node) (list []string) {
		for _, p := range n.Pairs {
			list = append(list, p.Key.Text+"="+p.Value.Text)
		}
		return list
	}
	require.Equal(t, []string{"a=1", "b=own"}, keys(n.Get("first")))
	require.Equal(t, []string{"b=own", "a=1"}, keys(n.Get("last")))
	require.Equal(t, []string{"a=1", "b=2", "c=4", "d=5"}, keys(n.Get("both")))
	require.Same(t, n.Get("base"), n.Get("list").Items[1])
	require.Equal(t, "f.yml:2:7", n.Get("list").Items[1].Pos())
	require.Equal(t, "f.yml:4:23", n.Get("first").Get("b").Pos())
	require.Nil(t, n.Get("absent"))
	require.Nil(t, n.Get("list").Get("a"))
}

func TestKeys(t *testing.T) {
	n := parseOne(t, "12: a\ntrue: b\n~: c\n&k x: d\n\"12 \": e\ny: *k\n")
	require.Equal(t, map[string]any{"12": "a", "true": "b", "~": "c", "x": "d", "12 ": "e", "y": "x"}, n.Any())
	require.Equal(t, int64(12), n.Pairs[0].Key.Value)
	require.Equal(t, true, n.Pairs[1].Key.Value)

	n = parseOne(t, "- &k x\n- *k : f\n")
	require.Equal(t, "f.yml:2:3", n.Items[1].Pairs[0].Key.Pos())
}

func TestComments(t *testing.T) {
	n := parseOne(t, `# above a
#   @require
a: 1 # beside a
b: # beside b
  # above c
  c: 2
list:
  # above x
  - x # beside x
  - y
`)
	require.Equal(t, "above a\n  @require\nbeside a", n.Pairs[0].Key.Comment)
	require.Equal(t, "beside b", n.Pairs[1].Key.Comment)
	require.Equal(t, "above c", n.Get("b").Pairs[0].Key.Comment)
	require.Equal(t, "above x\nbeside x", n.Get("list").Items[0].Comment)
	require.Empty(t, n.Get("list").Items[1].Comment)
}

func TestCommentsOfKeys(t *testing.T) {
	for _, tt := range []struct{ name, text, a, b, stray string }{ // stray comments of a and b
		{"above", "a: 1\n# of b\n# too\nb: 2\n", "", "of b\ntoo", ""},
		{"beside", "a: 1 # of a\nb: 2 # of b\n", "of a", "of b", ""},
		{"beside nothing", "a: # of a\nb:\n", "of a", "", ""},
		{"beside a map", "a: # of a\n  b: 1 # of b\n", "of a", "of b", ""},
		{"above within a map", "a:\n  # of b\n  b: 1\n", "", "of b", ""},
		{"beside a value on the next line", "a: # of a\n  x\nb: # of b\n  - 1\n", "of a", "of b", ""},
		{"beside a block", "a: | # of a\n  # text\n# of b\nb: 1\n", "of a", "of b", ""},
		{"beside a flow", "a: {x: 1} # of a\nb: [1] # of b\n", "of a", "of b", ""},
		{"in a flow", "{\n  # of a\n  a: 1,\n  b: 2 # of b\n}\n", "of a", "of b", ""},
		{"beside an alias", "x: &x 1\na: *x # of a\nb: 2\n", "of a", "", ""},
		{"long line ends", "a: 1\r\n# of b\r\n# too\r\nb: 2 # beside\r\n", "", "of b\ntoo\nbeside", ""},
		{"a blank line below", "a: 1\n\n# stray\n\nb: 2\n", "", "", "stray"},
		{"a blank line below, long line ends", "a: 1\r\n\r\n# stray\r\n\r\nb: 2\r\n", "", "", "stray"},
		{"a blank line within", "a: 1\n\n# stray\n\n# of b\nb: 2\n", "", "of b", "stray"},
		{"below", "a: 1\n# stray\n\nb: 2\n", "", "", "stray"},
		{"below and above", "a: 1\n# stray\n\n# too\n\nb: 2\n", "", "", "stray|too"},
		{"deeper than the next key", "a:\n  b: 1\n  # stray\nc: 1\n", "", "", "stray"},
		{"behind an anchor", "a: &a # stray\n  b: 1\n", "", "", "stray"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := parseOne(t, tt.text)
			keys := map[string]*Node{}
			collectKeys(n, keys)
			require.Equal(t, tt.a, keys["a"].Comment)
			require.Equal(t, tt.b, keys["b"].Comment)
			require.Equal(t, tt.stray, strings.Trim(keys["a"].Stray+"|"+keys["b"].Stray, "|"))
		})
	}
}

func collectKeys(n *Node, keys map[string]*Node) {
	for _, p := range n.Pairs {
		keys[p.Key.Text] = p.Key
		collectKeys(p.Value, keys)
	}
}

// bomb returns a list of nine aliases to a list of nine aliases and so on.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return b.String()
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

var parseErrors = []struct{ name, text, want string }{
	{"duplicate keys", "a: 1\nb: {c: 1, c: 2}\na: 2\n", "f.yml:2:11: key \"c\" is given twice, first at line 2\nf.yml:3:1: key \"a\" is given twice, first at line 1"},
	{"two merge keys", "x: &x {}\ny: {<<: *x, <<: *x}\n", "f.yml:2:13: key << is given twice, first at line 2\n  hint: write <<: [*a, *b]"},
	{"merged scalar", "x: {<<: 5}\n", "f.yml:1:9: << takes a map or a list of maps, not the number 5\n  hint: write <<: *name, or <<: [*a, *b]"},
	{"merged list of scalars", "x: {<<: [5]}\n", "f.yml:1:10: << takes a map or a list of maps, not the number 5\n  hint: write <<: *name, or <<: [*a, *b]"},
	{"list as a key", "? [a]\n: b\n", "f.yml:1:3: a key must be a text, not a list"},
	{"unquoted expression", "key: {{ foo }}\n", "f.yml:1:7: a key must be a text, not a map\n  hint: put quotes around the expression: \"{{ … }}\""},
	{"expression and text", "a: 1\nkey: {{ foo }} bar\n", "f.yml:2: did not find expected key\n  hint: quote an expression: \"{{ … }}\""},
	{"binary", "a: !!binary aGk=\n", "f.yml:1:4: tag !!binary is not supported\n  hint: name a file instead, or write the text"},
	{"vault", "a: !vault x\n", "f.yml:1:4: tag !vault is not supported\n  hint: write the value unencrypted; encrypted values work only in data, overrides, vars_files, files of -e and --hiera, and inventory variables"},
	{"a whole file in the vault", "$ANSIBLE_VAULT;1.1;AES256\n3132\n", "f.yml:1:1: the file is encrypted by ansible-vault\n  hint: decrypt the file with ansible-vault decrypt; only files of variables may be encrypted as a whole"},
	{"custom tags", "a: !foo {b: !bar [c]}\n", "f.yml:1:4: tag !foo is not supported\n  hint: remove it\nf.yml:1:13: tag !bar is not supported\n  hint: remove it"},
	{"wrong tag", "a: !!int x\n", `f.yml:1:4: "x" is not !!int`},
	{"tab", "a:\n\tb: 1\n", "f.yml:2:1: a tab is used for indentation\n  hint: indent with spaces"},
	{"tab after blanks", "a:\n  b: 1\n \tc: 2\n", "f.yml:3:2: a tab is used for indentation\n  hint: indent with spaces"},
	{"tab in the first line", "\ta: 1\n", "f.yml:1:1: a tab is used for indentation\n  hint: indent with spaces"},
	{"indentation", "x: 1\ny: 2\nz:\n    a: 1\n   b: 2\n", "f.yml:5: did not find expected key\n  hint: check the indentation of this line and the quotes and brackets before it"},
	{"indentation deep down", "x:\n- y:\n    a: 1\n    b: 2\n   c: 3\nz: 1\n", "f.yml:5: did not find expected key\n  hint: check the indentation of this line and the quotes and brackets before it"},
	{"list and map", "- a\nb: 1\n", "f.yml:2: did not find expected '-' indicator\n  hint: check the indentation of this line and the quotes and brackets before it"},
	{"open bracket", "a: [1, 2\nb: 3\n", "f.yml:1: did not find expected ',' or ']'\n  hint: check the indentation of this line and the quotes and brackets before it"},
	{"colon in a text", "a: b: c\n", "f.yml:1: mapping values are not allowed in this context\n  hint: quote a text that holds a colon and a blank, and check the indentation"},
	{"no colon", "x:\n  y: 1\nnocolon\nz: 1\n", "f.yml:3: could not find expected ':'"},
	{"at sign", "a: 1\nb: @x\n", "f.yml:2: found character that cannot start any token\n  hint: quote a text that begins with @"},
	{"percent sign", "- %x\n", "f.yml:1: found character that cannot start any token\n  hint: quote a text that begins with %"},
	{"unknown anchor", "a: 1\nb: *web\n", "f.yml:2:4: no anchor &web is defined before *web\n  hint: quote a text that begins with *"},
	{"unknown anchor that may be a password", "a: 1\nansible_become_pass: *web\n", "f.yml:2:22: an alias has no anchor before it (it is not shown: it may be a password)\n  hint: quote a text that begins with *"},
	{"unknown anchor in quoted keys", "{\"Password\" : *web}\n", "f.yml:1:15: an alias has no anchor before it (it is not shown: it may be a password)\n  hint: quote a text that begins with *"},
	{"unknown tag that may be a password", "a: {password: !hunter2 }\nb: {password: [!hunter2 x], c: !d x}\n", "f.yml:1:15: this tag is not supported (and not shown: it may be a password)\n  hint: quote a text that begins with !\nf.yml:2:16: this tag is not supported (and not shown: it may be a password)\n  hint: quote a text that begins with !\nf.yml:2:32: tag !d is not supported\n  hint: remove it"},
	{"password of ansible-vault", "password: !vault x\n", "f.yml:1:11: tag !vault is not supported\n  hint: write the value unencrypted; encrypted values work only in data, overrides, vars_files, files of -e and --hiera, and inventory variables"},
	{"glob", "a: 1\nb: *.example.com\n", "f.yml:2: did not find expected alphabetic or numeric character\n  hint: quote a text that begins with *"},
	{"open quote", "a: 1\nb: \"x\nc: y\n", "f.yml:2: found unexpected end of stream\n  hint: a quote is opened and not closed"},
	{"control character", "a: b\nc: x\x01\n", "f.yml:2:5: the file is not UTF-8 text: control characters are not allowed\n  hint: save the file as UTF-8 text"},
	{"Latin-1", "a: b\xe9\n", "f.yml:1:5: the file is not UTF-8 text: incomplete UTF-8 octet sequence\n  hint: save the file as UTF-8 text"},
	{"syntax error behind a document", "a: 1\na: 2\n---\nb: [\n", "f.yml:2:1: key \"a\" is given twice, first at line 1\nf.yml:4: did not find expected node content\n  hint: check the indentation of this line and the quotes and brackets before it"},
	{"alias within itself", "a: &x [*x]\n", "f.yml:1:8: *x is used within itself"},
	{"too deep", nested(102), "f.yml:1:102: nested more than 100 levels deep"},
	{"too deep through aliases", "a: &a " + nested(60) + "\nb: " + strings.Repeat("[", 60) + "*a" + strings.Repeat("]", 60), "f.yml:2:64: nested more than 100 levels deep"},
	{"bomb", bomb(30), "f.yml:7:10: the YAML text has more than 1000000 values\n  hint: use fewer aliases (*name): each alias copies the value"},
	{"bomb of merge keys", "a: &a {" + manyKeys(2000) + "}\nb: {<<: [" + strings.TrimSuffix(strings.Repeat("*a, ", 2000), ", ") + "]}\n", "f.yml:2:1002: the YAML text has more than 1000000 values\n  hint: use fewer aliases (*name): each alias copies the value"},
	{"too large", strings.Repeat("#", maxSize+1), "f.yml: larger than 16 MiB"},
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	return b.String()
}

func TestParseErrors(t *testing.T) {
	for _, tt := range parseErrors {
		t.Run(tt.name, func(t *testing.T) {
			nodes, err := Parse("f.yml", []byte(tt.text))
			require.EqualError(t, err, tt.want)
			require.Nil(t, nodes)
		})
	}
}

func TestBoundsAreReachable(t *testing.T) {
	parseOne(t, nested(101))
	parseOne(t, bomb(4))
}

// FuzzParse checks that nothing panics, that every node keeps the promises of Node, and that its plain value is
// unchanged after writing and reading it again.
func FuzzParse(f *testing.F) {
	for _, tt := range parseErrors {
		if len(tt.text) < 1000 {
			f.Add([]byte(tt.text))
		}
	}
	f.Add([]byte("# c\na: &x {b: [1, 0644, 1.5, ~, yes]}\nc: {<<: *x, d: \"\\e\"}\n---\n- |\n  text\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := Parse("f.yml", data)
		if err != nil {
			require.Nil(t, nodes)
			require.NotEmpty(t, err.Error())
			return
		}
		requireItems(t, data)
		for _, n := range nodes {
			budget := 10_000
			requireSound(t, n, &budget)
			if budget > 0 {
				requireRoundTrip(t, n)
			}
		}
	})
}

// TestItems has texts with as many values for an item as there can be.
func TestItems(t *testing.T) {
	for _, text := range []string{
		"", "a", "[a: b, c: d, e: f]", "{a, b, c}", "[[[[[]]]]]", "- - - - a", "-\t-\ta", "? a\n? b", "? ? ? a", "a\u2028b: c\rd: e\u0085f: g",
		"a: {b: {c: {d: }}}", "[? a, ? b: c]", "--- a\n--- b\n", "- a: b\n  c: d\n", "\"a\": [\"b\",{\"c\":1,\"d\":[]}]",
	} {
		requireItems(t, []byte(text))
	}
	require.Equal(t, 1, Items([]byte("a-b?c")), "no text is an item")
	require.Equal(t, 7, Items([]byte("- a\n- [b, c]\n")))
}

// requireItems checks that a YAML text has at most three nodes per item.
func requireItems(t *testing.T, data []byte) {
	documents, _ := decodeAll(data)
	total := 0
	var count func(n *yaml.Node)
	count = func(n *yaml.Node) {
		total++
		for _, c := range n.Content {
			count(c)
		}
	}
	for _, d := range documents {
		count(d)
		total-- // the document node does not count
	}
	require.LessOrEqual(t, total, 3*Items(data), "%q", data)
}

func requireSound(t *testing.T, n *Node, budget *int) {
	if *budget--; *budget < 0 {
		return
	}
	require.Positive(t, n.Line)
	seen := map[string]bool{}
	for _, p := range n.Pairs {
		require.Equal(t, Scalar, p.Key.Kind)
		require.False(t, seen[p.Key.Text])
		seen[p.Key.Text] = true
		requireSound(t, p.Value, budget)
	}
	for _, item := range n.Items {
		requireSound(t, item, budget)
	}
}

func requireRoundTrip(t *testing.T, n *Node) {
	text := fmt.Sprintf("%#v", n.Any())
	if strings.Contains(text, "NaN") {
		return
	}
	once := From(n, n.Any())
	again := From(n, once.Any())
	require.Equal(t, once, again)
	same, err := n.Map(func(n *Node) (*Node, error) { return n, nil })
	require.NoError(t, err)
	require.Same(t, n, same)
	var into any
	require.NoError(t, Decode(n, &into))
	require.Equal(t, text, fmt.Sprintf("%#v", into))
}

func TestRoundTripThroughYAML(t *testing.T) {
	n := parseOne(t, "a: [1, -2.5, yes, 'no', 2024-01-02, ~, true, {b: \"\\e\\n\"}]\n")
	text, err := yaml.Marshal(n.Any())
	require.NoError(t, err)
	require.Equal(t, n.Any(), parseOne(t, string(text)).Any())
}

func TestPlainTag(t *testing.T) {
	documents, err := Parse("f.yml", []byte("a: !unsafe 5\nb: !unsafe [1]\nc: !unsafe {d: \"{{ x }}\"}\ne: \"{{ x }}\"\n"), PlainTag("!unsafe"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": "5", "b": []any{int64(1)}, "c": map[string]any{"d": "{{ x }}"}, "e": "{{ x }}"}, documents[0].Any())
	require.True(t, documents[0].Get("c").Get("d").Plain)
	require.False(t, IsTemplate(documents[0].Get("c").Get("d")))
	require.True(t, IsTemplate(documents[0].Get("e")))
	require.True(t, documents[0].Get("a").Quoted)
	require.True(t, documents[0].Get("a").Plain)
	require.False(t, documents[0].Get("b").Items[0].Plain)
	_, err = Parse("f.yml", []byte("a: !unsafe 5\nb: !other x\n"), PlainTag("!unsafe"))
	require.EqualError(t, err, "f.yml:2:4: tag !other is not supported\n  hint: remove it")
	_, err = Parse("f.yml", []byte("a: !unsafe 5\n"))
	require.EqualError(t, err, "f.yml:1:4: tag !unsafe is not supported\n  hint: remove it")
}

func TestKeepSealedWithoutAnOpener(t *testing.T) {
	documents, err := Parse("f.yml", []byte("a: !vault |\n  $ANSIBLE_VAULT;1.1\nb: [!vault-encrypted x]\nc: y\n"), KeepSealed(nil))
	require.NoError(t, err)
	root := documents[0]
	require.Equal(t, map[string]any{"a": "$ANSIBLE_VAULT;1.1\n", "b": []any{"x"}, "c": "y"}, root.Any())
	require.Equal(t, []bool{true, true, false}, []bool{root.Get("a").Sealed != nil, root.Get("b").Items[0].Sealed != nil, root.Get("c").Sealed != nil})
	for text, want := range map[string]string{
		"a: !vault [x]\n":  "f.yml:1:4: tag !vault is not supported\n  hint: " + vaultHint,
		"!vault a: x\n":    "f.yml:1:1: tag !vault is not supported\n  hint: " + vaultHint,
		"a: !vaulted x\n":  "f.yml:1:4: tag !vaulted is not supported\n  hint: remove it",
		"a: !vault-id x\n": "f.yml:1:4: tag !vault-id is not supported\n  hint: remove it",
	} {
		_, err := Parse("f.yml", []byte(text), KeepSealed(nil))
		require.EqualError(t, err, want)
	}
}
