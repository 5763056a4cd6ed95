package ral

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

func TestSimpleProvider(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "bash")
	dir := folder(t, map[string]string{"conf/old": "1"})
	r := of(t, dir,
		`{"name":"old","type":"conf","properties":{"ensure":"present","text":"1"}}`,
		`{"name":"new","type":"conf","properties":{"ensure":"present","text":"it's; $(touch pwned) \"x\" \\ *","flags":["a","b c"]}}`,
		`{"name":"gone","type":"conf","properties":{"ensure":"absent"}}`,
	)
	want := `stable
changed: created it through conf::conf
  ensure: absent -> present
  flags: unset -> ["a", "b c"]
  text: unset -> it's; $(touch pwned) "x" \ *
stable`
	require.Equal(t, strings.ReplaceAll(want, "created", "Would have created"), briefs(r.checked().results(t)))
	require.NotContains(t, read(t, dir, "conf.calls"), "update")
	require.Equal(t, want, briefs(r.results(t)))
	require.Contains(t, read(t, dir, "conf.calls"), `name='new' ensure='present' flags='[a,b c]' text='it'\''s; $(touch pwned) "x" \ *' ral_action=update`+" \n")
	require.Equal(t, `it's; $(touch pwned) "x" \ *`, read(t, dir, "conf/new"))
	require.NoFileExists(t, dir+"/pwned")
	require.NoFileExists(t, "/pwned")
	require.Equal(t, "stable\nstable\nstable", briefs(r.results(t)))

	require.Equal(t, "changed: set text through conf::conf\n  text: 1 -> 2", brief(one(t, dir, `{"name":"old","type":"conf","properties":{"ensure":"present","text":"2"}}`)))
	require.Equal(t, "changed: removed it through conf::conf\n  ensure: present -> absent", brief(one(t, dir, `{"name":"old","type":"conf","properties":{"ensure":"absent","text":"2"}}`)))
	require.NoFileExists(t, dir+"/conf/old")
	require.Equal(t, `failed: provider conf::conf: no resource "never", and none can be made [unknown]`, brief(one(t, dir, `{"name":"never","type":"conf","properties":{"ensure":"present"}}`)))
	require.Equal(t, "stable", brief(one(t, dir, `{"name":"never","type":"conf","properties":{"ensure":"absent"}}`)))
	require.Equal(t, "failed: provider conf::conf: no\nroom left\n\nat all [failed]\n  ensure: absent -> present", brief(one(t, dir, `{"name":"bad","type":"conf","properties":{"ensure":"present"}}`)))
}

// simple returns a provider of the simple convention for the parsers.
func simple() *provider {
	m := &metadata{Type: "t", Name: "p", Invoke: invokeSimple, Attributes: map[string]attribute{
		"name": {}, ensure: {Type: typeEnum, Options: []string{present, absent}}, "a": {}, "on": {Type: typeBool}, "l": {Type: typeArray},
	}}
	return &provider{metadata: m}
}

func TestParseFind(t *testing.T) {
	for _, test := range []struct{ name, text, want, err string }{
		{"a resource", "# simple\nname: n\na:  x: y \non: true\nl: [p, q]\nzz: 1\n", `{"a":"x: y","l":["p","q"],"name":"n","on":true}`, ""},
		{"Windows lines", "# simple\r\nname: n\r\na: x\r\n", `{"a":"x","name":"n"}`, ""},
		{"no name", "# simple\na: x\n", `{"a":"x","name":"n"}`, ""},
		{"a bare list", "# simple\nl: p,q\n", `{"l":["p","q"],"name":"n"}`, ""},
		{"an empty list", "# simple\nl:\n", `{"l":[],"name":"n"}`, ""},
		{"nothing", "# simple\n", "", ""},
		{"unknown", "# simple\nname: n\nral_unknown: true\n", "", `provider t::p: no resource "n", and none can be made`},
		{"an error", "# simple\nral_error: one\n two\nral_eom\nname: x\n", "", "provider t::p: one\ntwo"},
		{"an error before all", "ral_error: one\nral_eom\n", "", "provider t::p: one"},
		{"an error without a message", "# simple\nral_error:\nral_eom\n", "", "provider t::p: it reports an error without a message"},
		{"an error without an end", "# simple\nral_error: one\ntwo", "", "provider t::p: one\ntwo"},
		{"no header", "name: n\n", "", `provider t::p: find printed an invalid answer: it begins with "name: n", not with "# simple"`},
		{"empty", "", "", `provider t::p: find printed an invalid answer: it begins with "", not with "# simple"`},
		{"no colon", "# simple\nhello\n", "", `provider t::p: find printed an invalid answer: "hello" is not "key: value"`},
		{"another one", "# simple\nname: m\n", "", `provider t::p: find was called for resource "n" and printed "m"`},
		{"a wrong boolean", "# simple\non: maybe\n", "", `provider t::p: find reports an impossible value for "on": "maybe" is not true or false`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := simple().parseFind(test.text, "n")
			if err == nil && e != nil {
				err = e.err
			}
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.Nil(t, err)
			if test.want == "" {
				require.Nil(t, e)
				return
			}
			require.JSONEq(t, test.want, string(e.values.state("n")))
		})
	}
}

func TestParseList(t *testing.T) {
	all, err := simple().parseList("# simple\nname: a\nensure: 1.2-3\nname: b\n\nname: c\non: false\n")
	require.Nil(t, err)
	require.Len(t, all, 3)
	require.Equal(t, values{ensure: "1.2-3"}, all["a"].values)
	require.Equal(t, values{"on": false}, all["c"].values)
	for _, test := range []struct{ text, want string }{
		{"# simple\na: 1\n", `provider t::p: list printed "a" before a name`},
		{"# simple\nname:\n", "provider t::p: list printed a resource without a name"},
		{"# simple\nname: a\nname: a\n", `provider t::p: list printed resource "a" twice`},
		{"#simple\n", `provider t::p: list printed an invalid answer: it begins with "#simple", not with "# simple"`},
	} {
		_, err := simple().parseList(test.text)
		require.EqualError(t, err, test.want)
	}
}

func TestParseUpdate(t *testing.T) {
	u := update{name: "n", is: values{"a": "1", "on": false}, should: values{"a": "2", "on": true}}
	for _, test := range []struct {
		name, text string
		want       map[string]change
		err        string
	}{
		{"changes", "name: n\na: 2\nral_was: 0\non: true\n", map[string]change{"a": {"0", "2"}, "on": {false, true}}, ""},
		{"with a header", "# simple\na: 2\n", map[string]change{"a": {"1", "2"}}, ""},
		{"derived", "ral_derive: true\n", map[string]change{"a": {"1", "2"}, "on": {false, true}}, ""},
		{"nothing", "", nil, ""},
		{"not derived", "ral_derive: false\n", nil, ""},
		{"an error", "a: 2\nral_error: no\nral_eom\n", nil, "provider t::p: no"},
		{"another name", "name: m\na: 2\n", nil, `provider t::p: update was called for resource "n" and printed "m"`},
		{"was of nothing", "ral_was: 1\n", nil, "provider t::p: update printed ral_was before an attribute"},
		{"unknown", "ral_unknown: true\n", nil, `provider t::p: no resource "n", and none can be made`},
		{"a wrong boolean", "on: 5\n", nil, `provider t::p: update reports an impossible value for "on": "5" is not true or false`},
		{"a wrong one before", "on: true\nral_was: 5\n", nil, `provider t::p: update reports an impossible value for "on": "5" is not true or false`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := simple().parseUpdate(test.text, u)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.Nil(t, err)
			if test.want == nil {
				require.Nil(t, r)
				return
			}
			require.Equal(t, test.want, r.changes)
		})
	}
}

// TestArgumentsSurviveEval hands texts to the two readers of the convention.
func TestArgumentsSurviveEval(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "bash", "python3")
	for _, text := range []string{"", "plain", "it's", "''", "'; touch x; '", "$(id) `id` $HOME", `\ \\ "`, "a  b\t*", "ü é 日本", "-n", "=", "!x"} {
		out := shell(t, `eval "$1"; printf %s "$key"`, argument("key", text))
		require.Equal(t, text, out)
		out = python(t, "import shlex,sys; sys.stdout.write(shlex.split(sys.argv[1])[0][4:])", argument("key", text))
		require.Equal(t, text, out)
	}
}

// TestSimpleNoop checks that a simple provider receives the flag if its metadata mark noop as safe.
func TestSimpleNoop(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "bash")
	dir := folder(t, map[string]string{"conf.yaml": "provider: {type: conf, invoke: simple, noop_safe: true, suitable: true, attributes: {name: , ensure: , text: }}"})
	r := of(t, dir, `{"name":"n","type":"conf","properties":{"ensure":"present","text":"x"}}`, `{"name":"bad","type":"conf","properties":{"ensure":"present"}}`)
	require.Equal(t, "changed: Would have created it through conf::conf\n  ensure: absent -> present\n  text: unset -> x\n"+
		"changed: Would fail unless ral#n fixes this first: provider conf::conf: no\nroom left\n\nat all", briefs(r.checked().results(t)))
	require.Contains(t, read(t, dir, "conf.calls"), "name='n' ensure='present' text='x' ral_noop='true' ral_action=update")
	require.NoFileExists(t, dir+"/conf/n")
}

// shell returns the output of a script that runs with one argument.
func shell(t *testing.T, script, arg string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", arg).Output()
	require.NoError(t, err)
	return string(out)
}

// python works like shell for a program in Python.
func python(t *testing.T, program, arg string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-X", "utf8", "-c", program, arg).Output()
	require.NoError(t, err)
	return string(out)
}

// realDir returns a folder whose path contains no link.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// named replaces folders in a text by names.
func named(text string, names map[string]string) string {
	for name, dir := range names {
		text = strings.ReplaceAll(text, dir, name)
	}
	return text
}
