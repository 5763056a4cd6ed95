package goss

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parse1 parses the rule of one attribute.
func parse1(t *testing.T, kind, attribute, expected string) (Matcher, error) {
	t.Helper()
	rules, err := Decode(json.RawMessage(`{"` + kind + `":{"x":{"` + attribute + `":` + expected + `}}}`))
	if err != nil {
		return nil, err
	}
	return rules[0].Expect[attribute], nil
}

func TestMatchers(t *testing.T) {
	const lines = "hello world\nsecond line\n"
	for _, test := range []struct {
		kind, attribute, expected string
		value                     any
		want                      bool
	}{
		{"service", "running", `true`, true, true},
		{"service", "running", `true`, false, false},
		{"command", "exit-status", `0`, 0.0, true},
		{"command", "exit-status", `0`, 1.0, false},
		{"command", "exit-status", `{"or":[0,2]}`, 2.0, true},
		{"command", "exit-status", `{"and":[{"gt":1},{"lt":3}]}`, 2.0, true},
		{"command", "exit-status", `{"and":[{"ge":1},{"le":2}]}`, 3.0, false},
		{"command", "exit-status", `{"not":2}`, 2.0, false},
		{"file", "mode", `"0644"`, "0644", true},
		{"file", "owner", `0`, "0", true},
		{"file", "linked-to", `{"have-prefix":"/usr"}`, "/usr/lib", true},
		{"file", "linked-to", `{"have-suffix":"bin"}`, "/usr/lib", false},
		{"file", "linked-to", `{"match-regexp":"^/[a-z]+/"}`, "/usr/lib", true},
		{"file", "linked-to", `{"have-len":8}`, "/usr/lib", true},
		{"command", "stdout", `"world"`, lines, true},
		{"command", "stdout", `["hello","/^second/","!third","!/^line/"]`, lines, true},
		{"command", "stdout", `["hello","third"]`, lines, false},
		{"command", "stdout", `["!hello"]`, lines, false},
		{"command", "stdout", `["\\!x"]`, "a !x", true},
		{"command", "stdout", `["\\/a/"]`, "a", false},
		{"command", "stdout", `{"equal":"hello"}`, "hello", true},
		{"command", "stdout", `{"equal":"hello"}`, "hello there", false},
		{"command", "stdout", `{"contain-substring":"wor"}`, lines, true},
		{"port", "ip", `["0.0.0.0"]`, []string{"0.0.0.0", "127.0.0.1"}, true},
		{"port", "ip", `["0.0.0.0","::"]`, []string{"0.0.0.0"}, false},
		{"port", "ip", `"0.0.0.0"`, []string{"0.0.0.0"}, true},
		{"port", "ip", `{"equal":["a","b"]}`, []string{"a", "b"}, true},
		{"port", "ip", `{"equal":["a","b"]}`, []string{"b", "a"}, false},
		{"port", "ip", `{"consist-of":["a","b"]}`, []string{"b", "a"}, true},
		{"port", "ip", `{"consist-of":["a"]}`, []string{"b", "a"}, false},
		{"port", "ip", `{"contain-element":{"have-prefix":"10."}}`, []string{"127.0.0.1", "10.0.0.1"}, true},
		{"port", "ip", `{"contain-elements":["a"]}`, []string{"b"}, false},
		{"port", "ip", `{"have-len":2}`, []string{"b", "a"}, true},
	} {
		m, err := parse1(t, test.kind, test.attribute, test.expected)
		require.NoError(t, err, test.expected)
		require.Equal(t, test.want, m.Match(test.value), "%s of %v", test.expected, test.value)
	}
}

var wrongRules = []struct{ rules, want string }{
	{`{}`, "goss_rules has no rules"},
	{`{"services":{"a":{"running":true}}}`, `there are no rules of the kind "services"`},
	{`{"service":["a"]}`, `the rules of the kind "service" are no map of names`},
	{`{"service":{"a":true}}`, `the rule service "a" is no map of attributes`},
	{`{"service":{"a":{"runing":true}}}`, `a rule of the kind service has no attribute "runing"`},
	{`{"service":{"a":{"title":"x"}}}`, `the rule service "a" expects nothing`},
	{`{"service":{"a":{"running":"yes"}}}`, `running of service "a": "yes" is not a boolean`},
	{`{"service":{"a":{"running":[true]}}}`, `running of service "a": [true] is a list, and the value is a boolean`},
	{`{"command":{"a":{"exit-status":{"more":1}}}}`, `exit-status of command "a": there is no matcher "more" (there are and, consist-of, contain-element, contain-elements, contain-substring, equal, ge, gt, have-len, have-prefix, have-suffix, le, lt, match-regexp, not, or)`},
	{`{"command":{"a":{"exit-status":{"gt":"1"}}}}`, `exit-status of command "a": gt compares numbers`},
	{`{"command":{"a":{"exit-status":{"gt":1,"lt":2}}}}`, `exit-status of command "a": {"gt":1,"lt":2} must have one matcher`},
	{`{"command":{"a":{"stdout":["/(/"]}}}`, "stdout of command \"a\": \"/(/\" is no regular expression: error parsing regexp: missing closing ): `(?m)(`"},
	{`{"command":{"a":{"exit-status":0,"timeout":"1s"}}}`, `timeout of command "a" cannot be "1s"`},
	{`{"http":{"a":{"status":` + strings.Repeat(`{"not":`, 12) + `1` + strings.Repeat(`}`, 12) + `}}}`, `status of http "a": matchers nest too deeply`},
}

func TestWrongRules(t *testing.T) {
	for _, test := range wrongRules {
		_, err := Decode(json.RawMessage(test.rules))
		require.EqualError(t, err, test.want)
	}
	_, err := Decode(json.RawMessage(`{"service":{"a":{"on":1}},"x":{}}`))
	require.Len(t, Errors(err), 2)
}

func TestRulesNamedBesideTheirKey(t *testing.T) {
	rules, err := Decode(json.RawMessage(`{"command":{"it lives":{"exec":"pgrep nginx","exit-status":0,"timeout":500}},"file":{"/a":{"exists":true,"skip":true}},"user":{"root":{"exists":true}}}`))
	require.NoError(t, err)
	require.Len(t, rules, 2)
	require.Equal(t, []string{"pgrep nginx", "it lives"}, []string{rules[0].Name, rules[0].Key})
	require.Equal(t, 500, rules[0].Number("timeout"))
	require.Equal(t, "root", rules[1].Name)
}

// FuzzDecode reads rules of any kind, and compares values of every shape with what
// they expect.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"service":{"nginx":{"running":true,"enabled":{"not":false}}},"port":{"tcp:80":{"ip":["0.0.0.0"]}}}`))
	f.Add([]byte(`{"command":{"x":{"stdout":["/a/","!b"],"exit-status":{"or":[0,{"gt":3}]}}}}`))
	for _, w := range wrongRules {
		f.Add([]byte(w.rules))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rules, err := Decode(b)
		if err != nil {
			require.NotEmpty(t, Errors(err))
			return
		}
		for _, r := range rules {
			require.NotEmpty(t, r.Attributes())
			for _, a := range r.Attributes() {
				for _, v := range []any{true, 1.0, "x", []string{"x"}, nil} {
					r.Expect[a].Match(v)
				}
				require.NotEmpty(t, r.Expect[a].String())
			}
		}
	})
}
