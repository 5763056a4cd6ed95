package yamlpos

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// upper is a type that reads itself from text.
type upper struct{ s string }

func (u *upper) UnmarshalText(b []byte) error {
	if len(b) > 0 && b[0] == '!' {
		return errors.New("begins with !")
	}
	u.s = strings.ToUpper(string(b))
	return nil
}

type common struct {
	Owner string `json:"owner"`
}

type Embedded struct {
	Note string `json:"note"`
}

type inner struct {
	Deep string `json:"deep"`
	N    int8   `json:"n"`
}

type subject struct {
	common
	*Embedded
	Content  upper             `json:"content" also:"contents,text"`
	Mode     string            `json:"mode,omitempty" numbers:"refuse"`
	Name     string            `json:"name"`
	Force    bool              `json:"force"`
	Maybe    *bool             `json:"maybe"`
	Port     int               `json:"port"`
	Small    uint8             `json:"small"`
	Ratio    float64           `json:"ratio"`
	Timeout  time.Duration     `json:"timeout"`
	Env      []string          `json:"env"`
	Map      map[string]string `json:"map"`
	Free     map[string]any    `json:"free"`
	Any      any               `json:"any"`
	Inner    *inner            `json:"inner"`
	List     []inner           `json:"list"`
	Internal string            `json:"-"`
	Untagged string
}

func ptr[T any](v T) *T { return &v }

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		text string
		want subject
	}{
		{"{}", subject{}},
		{"mode: 0644\nname: 5\nowner: yes\nnote: 1.50", subject{Mode: "0644", Name: "5", common: common{"yes"}, Embedded: &Embedded{"1.50"}}},
		{"content: abc", subject{Content: upper{"ABC"}}},
		{"contents: 007", subject{Content: upper{"007"}}},
		{"force: yes\nmaybe: Off", subject{Force: true, Maybe: ptr(false)}},
		{"force: true", subject{Force: true}},
		{"port: 0x10\nsmall: 255\nratio: 2", subject{Port: 16, Small: 255, Ratio: 2}},
		{"timeout: 1h30m", subject{Timeout: 90 * time.Minute}},
		{"env: [a, 1, yes]", subject{Env: []string{"a", "1", "yes"}}},
		{"env: []", subject{Env: []string{}}},
		{"map: {a: 1, 2: b}", subject{Map: map[string]string{"a": "1", "2": "b"}}},
		{"free: {a: 1, b: [x], c: }", subject{Free: map[string]any{"a": int64(1), "b": []any{"x"}, "c": nil}}},
		{"any: {a: [1]}", subject{Any: map[string]any{"a": []any{int64(1)}}}},
		{"any: 5", subject{Any: int64(5)}},
		{"inner: {deep: x, n: -5}\nlist: [{deep: a}, {n: 1}]", subject{Inner: &inner{"x", -5}, List: []inner{{Deep: "a"}, {N: 1}}}},
		{"port:\nenv: ~\ninner: null\nforce:\nmode:\nmaybe:", subject{}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var got subject
			require.NoError(t, Decode(parseOne(t, tt.text), &got))
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"prot: 1", `f.yml:1:1: unknown key "prot" (did you mean "port"?)`},
		{"inner: {dep: 1}", `f.yml:1:9: unknown key "dep" in "inner" (did you mean "deep"?)`},
		{"inner: {quite_other: 1}", "f.yml:1:9: unknown key \"quite_other\" in \"inner\"\n  hint: known keys: deep, n"},
		{"Internal: x", "f.yml:1:1: unknown key \"Internal\"\n  hint: known keys: owner, note, content, mode, name, force, maybe, port, small, ratio, timeout, env, map, free, any, inner, list"},
		{"content: a\ntext: b", "f.yml:2:1: \"content\" and \"text\" are two spellings of one key\n  hint: keep one of them"},
		{"content: '!x'", "f.yml:1:10: content: begins with !"},
		{"content: [a]", `f.yml:1:10: "content" must be a single value, not a list`},
		{"name: {a: 1}", `f.yml:1:7: "name" must be a single value, not a map`},
		{"force: 1", `f.yml:1:8: "force" must be true or false, not the number 1`},
		{"force: 'yes'", "f.yml:1:8: \"force\" must be true or false, not the text \"yes\"\n  hint: remove the quotes"},
		{"force: yEs", "f.yml:1:8: \"force\" must be true or false, not the text \"yEs\""},
		{"port: '80'", "f.yml:1:7: \"port\" must be an integer, not the text \"80\"\n  hint: remove the quotes"},
		{"port: 80.0", `f.yml:1:7: "port" must be an integer, not the number 80.0`},
		{"port: 99999999999999999999", `f.yml:1:7: "port" is out of range: 99999999999999999999`},
		{"small: 256", `f.yml:1:8: "small" is out of range: 256`},
		{"small: -1", `f.yml:1:8: "small" is out of range: -1`},
		{"list: [{n: 128}]", `f.yml:1:12: "list[0].n" is out of range: 128`},
		{"ratio: x", "f.yml:1:8: \"ratio\" must be a number, not the text \"x\""},
		{"timeout: 30", "f.yml:1:10: \"timeout\" must be a duration, not the number 30\n  hint: write a number with a unit: 30s, 5m, 1h30m"},
		{"env: A=b", "f.yml:1:6: \"env\" must be a list, not the text \"A=b\"\n  hint: write a list: - A=b"},
		{"env: {a: b}", "f.yml:1:6: \"env\" must be a list, not a map\n  hint: write a list: - value"},
		{"env: A=b, C=d", "f.yml:1:6: \"env\" must be a list, not the text \"A=b, C=d\"\n  hint: write a list: [A=b, C=d]"},
		{"env: '{{ Facts.x }}'", "f.yml:1:6: \"env\" must be a list, not the text \"{{ Facts.x }}\"\n  hint: write a list: - \"{{ Facts.x }}\""},
		{"env: 'a: b'", "f.yml:1:6: \"env\" must be a list, not the text \"a: b\"\n  hint: write a list: - \"a: b\""},
		{"env: ''", "f.yml:1:6: \"env\" must be a list, not the text \"\"\n  hint: write a list: - value"},
		{"env: [a, [b]]", `f.yml:1:10: "env[1]" must be a single value, not a list`},
		{"map: [a]", "f.yml:1:6: \"map\" must be a map, not a list\n  hint: write a map, such as key: value"},
		{"map: {a: [b]}", `f.yml:1:10: "map.a" must be a single value, not a list`},
		{"inner: x", "f.yml:1:8: \"inner\" must be a map, not the text \"x\"\n  hint: write a map, such as key: value"},
		{"[a]", "f.yml:1:1: the value must be a map, not a list\n  hint: write a map, such as key: value"},
		{"name: |\n  a\nport: |\n  long\n  text\n", "f.yml:3:7: \"port\" must be an integer, not the text \"long…\""},
		{"port: x\nsmall: y\nenvv: z", "f.yml:1:7: \"port\" must be an integer, not the text \"x\"\nf.yml:2:8: \"small\" must be an integer, not the text \"y\"\nf.yml:3:1: unknown key \"envv\" (did you mean \"env\"?)"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var got subject
			require.EqualError(t, Decode(parseOne(t, tt.text), &got), tt.want)
		})
	}
}

func TestDecodeComputed(t *testing.T) {
	at := &Node{File: "f.yml", Line: 7, Column: 3}
	for _, tt := range []struct {
		value map[string]any
		want  subject
		err   string
	}{
		{value: map[string]any{"name": 420, "content": 1.5, "owner": true}, want: subject{Name: "420", Content: upper{"1.5"}, common: common{"true"}}},
		{value: map[string]any{"mode": "0644"}, want: subject{Mode: "0644"}},
		{value: map[string]any{"mode": 420}, err: "f.yml:7:3: \"mode\" is the number 420, not text\n  hint: quote it where it is defined"},
		{value: map[string]any{"port": 80.0, "small": uint8(3)}, want: subject{Port: 80, Small: 3}},
		{value: map[string]any{"port": 80.5}, err: `f.yml:7:3: "port" must be an integer, not the number 80.5`},
		{value: map[string]any{"port": "80"}, err: "f.yml:7:3: \"port\" must be an integer, not the text \"80\""},
		{value: map[string]any{"force": "yes"}, err: "f.yml:7:3: \"force\" must be true or false, not the text \"yes\""},
		{value: map[string]any{"env": []string{"a"}, "map": map[string]int{"a": 1}}, want: subject{Env: []string{"a"}, Map: map[string]string{"a": "1"}}},
		{value: map[string]any{"any": nil}, want: subject{}},
		{value: map[string]any{"timeout": nil}, err: "f.yml:7:3: \"timeout\" is null: the expression has no value\n  hint: give it a default, such as Data.x ?? 'y', or remove the property"},
	} {
		var got subject
		err := Decode(From(at, tt.value), &got)
		if tt.err != "" {
			require.EqualError(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
}

func TestDecodeOpen(t *testing.T) {
	isOpen := Open(func(n *Node) bool { return strings.Contains(n.Text, "{{") })
	n := parseOne(t, `
name: "{{ x }}"
port: "{{ x }}"
force: "{{ x }}"
env: "{{ x }}"
inner: "{{ x }}"
maybe: "{{ x }}"
list: ["{{ x }}", {n: "{{ x }}"}]
map: {a: "{{ x }}", b: c}
owner: me
`)
	var got subject
	require.NoError(t, Decode(n, &got, isOpen))
	require.Equal(t, subject{common: common{"me"}, List: []inner{{}, {}}, Map: map[string]string{"a": "", "b": "c"}}, got)
	require.Error(t, Decode(n, &got))
}

func TestDecodePanicsOnMisuse(t *testing.T) {
	n := parseOne(t, "a: 1")
	require.Panics(t, func() { _ = Decode(n, subject{}) })
	require.Panics(t, func() { _ = Decode(n, new(map[string]chan int)) })
}

type exactValues map[string]any

// ExactNumbers implements [Exact].
func (exactValues) ExactNumbers() {}

// TestDecodeExact checks that digits that a float64 would lose are kept if the type requires it.
func TestDecodeExact(t *testing.T) {
	var got struct {
		Exact exactValues    `json:"exact"`
		Other map[string]any `json:"other"`
	}
	in := "{list: [18446744073709551617, 1.50, 7, .5, {n: 1e2}], none: null, text: '1.50'}"
	docs, err := Parse("f.yaml", []byte("exact: "+in+"\nother: "+in+"\n"))
	require.NoError(t, err)
	require.NoError(t, Decode(docs[0], &got))
	require.Equal(t, exactValues{"list": []any{json.Number("18446744073709551617"), json.Number("1.50"), int64(7), .5, map[string]any{"n": json.Number("1e2")}}, "none": nil, "text": "1.50"}, got.Exact)
	require.Equal(t, map[string]any{"list": []any{18446744073709551617.0, 1.5, int64(7), .5, map[string]any{"n": 100.0}}, "none": nil, "text": "1.50"}, got.Other)

	computed := From(docs[0], map[string]any{"exact": map[string]any{"a": json.Number("1.50"), "b": json.Number("7")}})
	require.NoError(t, Decode(computed, &got))
	require.Equal(t, exactValues{"a": json.Number("1.50"), "b": int64(7)}, got.Exact)
}
