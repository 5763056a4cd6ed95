package ansible

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// literalVectors are texts and the values that ansible-core 2.14.18 reads for them in an INI inventory.
var literalVectors = []struct {
	text string
	want any
}{
	{"1", int64(1)}, {"-3", int64(-3)}, {"+3", int64(3)}, {"0x10", int64(16)}, {"0o17", int64(15)}, {"0b11", int64(3)}, {"1_000", int64(1000)}, {"00", int64(0)},
	{"010", "010"}, {"0755", "0755"}, {"1__0", "1__0"}, {"1.2.3", "1.2.3"}, {"10.0.0.1", "10.0.0.1"}, {"--3", "--3"}, {"1+2", "1+2"},
	{"1.5", 1.5}, {"1.", 1.0}, {".5", .5}, {"1e3", 1000.0}, {"99999999999999999999", 1e20},
	{"True", true}, {"False", false}, {"None", nil},
	{"yes", "yes"}, {"true", "true"}, {"null", "null"}, {"", ""}, {" x ", " x "}, {" 1 ", int64(1)},
	{"'a'", "a"}, {`"a" 'b'`, "ab"}, {"b'x'", "x"}, {`r'\n'`, `\n`}, {`'\x41\u00e9\n\q'`, "Aé\n\\q"}, {"'''a'b'''", "a'b"}, {"f'x'", "f'x'"}, {"'a", "'a"},
	{"'a' # comment", "a"}, {"a # no comment", "a # no comment"}, {"1 # comment", int64(1)}, {`"a`, `"a`},
	{"[1, 'a', None]", []any{int64(1), "a", nil}}, {"[]", []any{}}, {"[1,]", []any{int64(1)}}, {"(1, 2)", []any{int64(1), int64(2)}}, {"(1)", int64(1)}, {"()", []any{}},
	{"1, 2", []any{int64(1), int64(2)}}, {"1,", []any{int64(1)}}, {"{1, 2}", []any{int64(1), int64(2)}}, {"set()", []any{}},
	{"{'a': 1, 2: [True]}", map[string]any{"a": int64(1), "2": []any{true}}}, {"{}", map[string]any{}},
	{"[a]", "[a]"}, {"{a: 1}", "{a: 1}"}, {"1j", "1j"}, {"...", "..."}, {"[1][0]", "[1][0]"},
	{strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 200) + strings.Repeat("]", 200)},
}

// nowhere is the position of literals in tests.
var nowhere = &yamlpos.Node{File: "x"}

func TestLiteral(t *testing.T) {
	for _, tt := range literalVectors {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, tt.want, Literal(nowhere, tt.text).Any())
		})
	}
}

func FuzzLiteral(f *testing.F) {
	for _, tt := range literalVectors {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := Literal(nowhere, text)
		if s, ok := n.Value.(string); ok {
			require.Equal(t, s, n.Text)
			require.True(t, n.Quoted)
		}
		n.Any()
	})
}

// literalProgram prints {"v": value}, or {} for a value that JSON cannot express.
const literalProgram = `
import ast, json, math, sys
def plain(v):
    if isinstance(v, bytes): return v.decode()
    if isinstance(v, (list, tuple)): return [plain(x) for x in v]
    if isinstance(v, dict): return {key(k): plain(x) for k, x in v.items()}
    if isinstance(v, float) and not math.isfinite(v): raise KeyError
    if v is None or isinstance(v, (bool, int, float, str)): return v
    raise KeyError
def key(k):
    if isinstance(k, (str, bytes)): return plain(k)
    raise KeyError
def answer(s):
    try:
        v = ast.literal_eval(s)
    except (ValueError, SyntaxError):
        v = s
    except TypeError:
        return {}
    try:
        return {"v": plain(v)}
    except (KeyError, UnicodeDecodeError):
        return {}
print(json.dumps([answer(s) for s in json.load(sys.stdin)]))
`

// TestLiteralsAreThoseOfPython compares random texts with the result of Python.
func TestLiteralsAreThoseOfPython(t *testing.T) {
	texts := randomTexts(1, 20_000, []string{
		"1", "0", "00", "01", "0x1f", "0o17", "0b101", "1_000", "1__0", "1.", ".5", "1e3", "1.e5", "1e", "0e0", "09.5", "0_7", "1j",
		"'a'", `"b"`, "u'c'", "b'x'", "r'\\n'", "f'x'", "rb'q'", "'''t'''", `"\x41\101\u00e9\n\q"`, "'é'", "True", "true", "None", "set()",
		"[", "]", "(", ")", "{", "}", ",", ":", "-", "+", " ", "  ", "# c", "a", "...", "=", "'", `"`, "\\", "_1", "1_", "0x_1", "1.2.3", "é", "--",
	})
	compared := 0
	for i, answer := range askPython(t, literalProgram, texts) {
		var want struct{ V any }
		require.NoError(t, json.Unmarshal(answer, &want))
		if string(answer) == "{}" {
			continue
		}
		text, err := json.Marshal(Literal(nowhere, texts[i]).Any())
		require.NoError(t, err)
		var got any
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want.V, got, "%q", texts[i])
		compared++
	}
	require.Greater(t, compared, 10_000)
}

// randomTexts puts pieces of text together that mean something in a grammar.
func randomTexts(seed uint64, count int, pieces []string) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	texts := make([]string, count)
	for i := range texts {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		texts[i] = b.String()
	}
	return texts
}

// askPython runs program with texts as JSON on its standard input; it prints one
// JSON value for each.
func askPython(t *testing.T, program string, texts []string) []json.RawMessage {
	t.Helper()
	python := needs.Program(t, "python3")
	in, err := json.Marshal(texts)
	require.NoError(t, err)
	cmd := exec.Command(python, "-W", "ignore", "-c", program)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	require.NoError(t, err)
	var answers []json.RawMessage
	require.NoError(t, json.Unmarshal(out, &answers))
	require.Len(t, answers, len(texts))
	return answers
}
