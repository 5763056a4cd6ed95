package goss

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
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
	{`{}`, `"goss_rules" has no rules`},
	{`{"services":{"a":{"running":true}}}`, `unknown kind of rules "services"`},
	{`{"service":["a"]}`, `the rules of the kind "service" are not a map of names`},
	{`{"service":{"a":true}}`, `the rule service "a" is not a map of attributes`},
	{`{"service":{"a":{"runing":true}}}`, `a rule of the kind service has no attribute "runing"`},
	{`{"service":{"a":{"title":"x"}}}`, `the rule service "a" expects nothing`},
	{`{"service":{"a":{"running":"yes"}}}`, `"running" of service "a": "yes" is not a boolean`},
	{`{"service":{"a":{"running":[true]}}}`, `"running" of service "a": [true] is a list, and the value is a boolean`},
	{`{"command":{"a":{"exit-status":{"more":1}}}}`, `"exit-status" of command "a": unknown matcher "more" (use and, consist-of, contain-element, contain-elements, contain-substring, equal, ge, gjson, gt, have-key, have-len, have-patterns, have-prefix, have-suffix, le, lt, match-regexp, not, or, semver-constraint)`},
	{`{"command":{"a":{"exit-status":{"gt":"1"}}}}`, `"exit-status" of command "a": "gt" compares numbers`},
	{`{"command":{"a":{"exit-status":{"gt":1,"lt":2}}}}`, `"exit-status" of command "a": {"gt":1,"lt":2} must have one matcher`},
	{`{"command":{"a":{"stdout":["/(/"]}}}`, "\"stdout\" of command \"a\": \"/(/\" is not a regular expression: error parsing regexp: missing closing ): `(?m)(`"},
	{`{"command":{"a":{"exit-status":0,"timeout":"1s"}}}`, `"timeout" of command "a" must be a number`},
	{`{"http":{"https://ann:hunter2@a/":{"status":200,"password":1234567}}}`, `"password" of http "https://[redacted]@a/" must be a text`},
	{`{"http":{"a":{"status":200,"request-headers":["X-Key hunter2"]}}}`, `"request-headers" of http "a": item 1 is not of the form NAME: VALUE`},
	{`{"http":{"a":{"status":200,"request-headers":["X-Key: a\r\nb: c"]}}}`, `"request-headers" of http "a": item 1 is not of the form NAME: VALUE`},
	{`{"http":{"a":{"status":200,"request-headers":[5]}}}`, `"request-headers" of http "a" must be a list of texts`},
	{`{"http":{"a":{"status":200,"ca-file":"ca.pem"}}}`, `"ca-file" of http "a" is not an absolute path`},
	{`{"http":{"a":{"status":200,"cert-file":"/c.pem"}}}`, `http "a" needs both "cert-file" and "key-file"`},
	{`{"http":{"a":{"status":200,"proxy":"ann:hunter2@proxy"}}}`, `"proxy" of http "a" is not the URL of a proxy`},
	{`{"matching":{"a":{"matches":5}}}`, `the rule matching "a" has no "content"`},
	{`{"matching":{"a":{"content":5}}}`, `the rule matching "a" expects nothing`},
	{`{"matching":{"a":{"content":5,"matches":null}}}`, `"matches" of matching "a": null is not an expectation; write equal: null`},
	{`{"command":{"a":{"stdout":{"gjson":["a"]}}}}`, `"stdout" of command "a": "gjson" looks at texts that are JSON, and takes a map of paths`},
	{`{"command":{"a":{"stdout":{"gjson":{"a":{"gt":"x"}}}}}}`, `"stdout" of command "a": gjson "a": "gt" compares numbers`},
	{`{"command":{"a":{"stdout":{"have-key":"a"}}}}`, `"stdout" of command "a": "have-key" looks at maps`},
	{`{"package":{"a":{"versions":{"semver-constraint":"~1.2"}}}}`, `"versions" of package "a": "~1.2" is not a comparison with a version such as >=1.2.3: Invalid Semantic Version`},
	{`{"package":{"a":{"versions":{"semver-constraint":">1.0.0 ||"}}}}`, `"versions" of package "a": the constraint ">1.0.0 ||" has an empty part`},
	{`{"gossfile":{"a.yaml":{}}}`, `"gossfile" works in the "health_checks" of a resource in a manifest only, as a map of files`},
	{`{"http":{"a":{"status":` + strings.Repeat(`{"not":`, 12) + `1` + strings.Repeat(`}`, 12) + `}}}`, `"status" of http "a": matchers nest too deeply`},
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

// FuzzDecode reads rules of any kind, and compares values of every shape with the expected ones.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"service":{"nginx":{"running":true,"enabled":{"not":false}}},"port":{"tcp:80":{"ip":["0.0.0.0"]}}}`))
	f.Add([]byte(`{"command":{"x":{"stdout":["/a/","!b"],"exit-status":{"or":[0,{"gt":3}]}}}}`))
	f.Add([]byte(`{"matching":{"x":{"content":{"a":1},"matches":{"have-key":"a"}}},"command":{"x":{"stdout":{"gjson":{"a.0":{"semver-constraint":"1.x"}}}}}}`))
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
				for _, v := range []any{true, 1.0, "x", `{"a":[1]}`, []string{"x"}, []any{1.0, "x"}, map[string]any{"a": 1.0}, nil} {
					r.Expect[a].Match(v)
				}
				require.NotEmpty(t, r.Expect[a].String())
			}
		}
	})
}

// TestMatchersOfAnyValue uses values of all kinds that a document can have, and that matching can get.
func TestMatchersOfAnyValue(t *testing.T) {
	const doc = `{"name":"web","port":8080,"on":true,"none":null,"list":["a",2],"deep":{"a.b":"x"},"users":[{"id":1},{"id":2}]}`
	for _, test := range []struct {
		content, matches string
		want             bool
	}{
		{`5`, `5`, true},
		{`"5"`, `5`, true}, // as in goss
		{`5`, `"5"`, true},
		{`5`, `{"gt":4}`, true},
		{`"5"`, `{"le":4}`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`null`, `{"equal":null}`, true},
		{`null`, `5`, false},
		{`"web"`, `{"have-prefix":"w"}`, true},
		{`"a\nb"`, `{"have-patterns":["a","/^b$/","!c"]}`, true},
		{`"a\nb"`, `{"have-patterns":["c"]}`, false},
		{`["a","b"]`, `["b"]`, true},
		{`["a","b"]`, `["c"]`, false},
		{`["a",2]`, `{"consist-of":[2,"a"]}`, true},
		{`["a",2]`, `{"contain-element":{"gt":1}}`, true},
		{`["a",[2]]`, `{"equal":["a",[2]]}`, true},
		{`["a",2]`, `{"have-len":2}`, true},
		{`{"a":1}`, `{"have-key":"a"}`, true},
		{`{"a":1}`, `{"have-key":{"have-prefix":"b"}}`, false},
		{`{"a":1}`, `{"equal":{"a":1}}`, true},
		{`{"a":1}`, `{"not":{"have-key":"b"}}`, true},
		{`{"a":1}`, `{"have-len":1}`, true},
		{`5`, `{"have-len":1}`, false},
		{`5`, `{"have-key":"a"}`, false},
		{`DOC`, `{"gjson":{"name":"web","port":{"gt":80},"on":true}}`, true},
		{`DOC`, `{"gjson":{"name":"db"}}`, false},
		{`DOC`, `{"gjson":{"nope":{"not":"x"}}}`, false},
		{`DOC`, `{"not":{"gjson":{"nope":"x"}}}`, true},
		{`DOC`, `{"gjson":{"list":{"contain-element":2},"deep":{"have-key":"a.b"},"deep.a\\.b":"x","users.#(id==2).id":2,"users.#":2,"none":{"equal":null}}}`, true},
		{`"no JSON"`, `{"gjson":{"name":"web"}}`, false},
		{`5`, `{"gjson":{"name":"web"}}`, false},
		{`"1.2.3"`, `{"semver-constraint":">=1.2.0 <2.0.0"}`, true},
		{`["1.2.3","3.0.0"]`, `{"semver-constraint":">=1.2.0 <2.0.0"}`, false},
		{`"1.2"`, `{"semver-constraint":">=1.0.0"}`, false}, // not a version
		{`[]`, `{"semver-constraint":">=1.0.0"}`, false},
		{`5`, `{"semver-constraint":">=1.0.0"}`, false},
	} {
		content := strings.ReplaceAll(test.content, "DOC", strconv.Quote(doc))
		rules, err := Decode(json.RawMessage(`{"matching":{"x":{"content":` + content + `,"matches":` + test.matches + `}}}`))
		require.NoError(t, err, test.matches)
		require.Equal(t, test.want, rules[0].Expect["matches"].Match(rules[0].Parameters["content"]), "%s of %s", test.matches, test.content)
	}
}

// TestSemverConstraint uses the examples of goss's library (github.com/blang/semver, range.go).
func TestSemverConstraint(t *testing.T) {
	for _, test := range []struct {
		constraint, in, out string
	}{
		{"<1.0.0", "0.9.9 1.0.0-rc1", "1.0.0 2.0.0"},
		{"<=1.0.0", "1.0.0", "1.0.1"},
		{">1.0.0", "1.0.1 2.0.0-rc1", "1.0.0 0.1.0"},
		{">= 1.0.0", "1.0.0", "0.9.9 1.0.0-rc1"},
		{"1.0.0", "1.0.0 1.0.0+build", "1.0.1 1.0.0-rc1"},
		{"==1.0.0", "1.0.0", "1.0.1"},
		{"!1.0.0", "1.0.1", "1.0.0"},
		{"!=1.0.0", "0.1.0", "1.0.0"},
		{">1.0.0 <2.0.0", "1.0.1 1.9.9", "1.0.0 2.0.0 2.1.0"},
		{"<2.0.0 || >=3.0.0", "1.9.9 3.0.0", "2.0.0 2.9.9"},
		{">1.0.0 <2.0.0 !=1.5.0 || >=3.0.0", "1.4.9 3.1.0", "1.5.0 2.5.0"},
		{"1.x", "1.0.0 1.9.9", "0.9.0 2.0.0"},
		{"1.2.x", "1.2.0 1.2.9", "1.3.0 1.1.9"},
		{">1.2.x", "1.3.0", "1.2.9 1.2.0"},
		{">=1.2.x", "1.2.0", "1.1.9"},
		{"<1.2.x", "1.1.9", "1.2.0"},
		{"<=1.2.x", "1.2.9", "1.3.0"},
		{"!1.2.x", "1.3.0 1.1.0", "1.2.5"},
	} {
		r, err := parseRange(test.constraint)
		require.NoError(t, err, test.constraint)
		for v := range strings.FieldsSeq(test.in) {
			require.True(t, inRange(r, v), "%s in %s", v, test.constraint)
		}
		for v := range strings.FieldsSeq(test.out) {
			require.False(t, inRange(r, v), "%s in %s", v, test.constraint)
		}
	}
}

// TestSecretsAreNotShown uses a rule with every possible secret.
func TestSecretsAreNotShown(t *testing.T) {
	const rules = `{"http":{"https://ann:hunter2@web/":{"status":200,"username":"bob","password":"s3cret","request-headers":["X-Key: k3y","Authorization: Bearer t0ken","Accept: text/html"],
		"proxy":"http://eve:pr0xy@proxy:3128","body":["s3cret"]}},"service":{"a":{"running":true}}}`
	all, err := Decode(json.RawMessage(rules))
	require.NoError(t, err)
	r := all[0]
	require.Equal(t, "https://[redacted]@web/", r.Key)
	require.Equal(t, "https://ann:hunter2@web/", r.Name)
	basic := base64.StdEncoding.EncodeToString([]byte("bob:s3cret"))
	require.Equal(t, "[redacted] [redacted] [redacted] [redacted] [redacted] http://[redacted]@proxy:3128 text/html",
		r.Redact("s3cret "+basic+" k3y Bearer t0ken t0ken http://eve:pr0xy@proxy:3128 text/html"))

	var plain map[string]any
	require.NoError(t, json.Unmarshal([]byte(rules), &plain))
	shown, err := json.Marshal(Shown(plain))
	require.NoError(t, err)
	for _, secret := range []string{"hunter2", "s3cret", "k3y", "t0ken", "pr0xy"} {
		require.NotContains(t, string(shown), secret)
	}
	require.Contains(t, string(shown), `"request-headers":["X-Key: [redacted]","Authorization: [redacted]","Accept: text/html"]`)
	require.Contains(t, string(shown), `"service":{"a":{"running":true}}`)
	again, err := json.Marshal(plain)
	require.NoError(t, err)
	require.JSONEq(t, rules, string(again), "it was changed")
}
