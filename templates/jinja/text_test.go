package jinja_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/jinja"
	"github.com/ccm-push/ccm-push/templates/render"
)

var at = diag.Position{File: "hosts.yaml", Line: 3, Column: 8}

func env() *render.Env {
	return &render.Env{
		Data: map[string]any{
			"base": "/srv", "port": int64(80), "on": true, "off": false, "nothing": nil, "empty": "", "ratio": 1.5, "evil": "{{ base }}",
			"list": []any{"a", int64(2), true}, "app": map[string]any{"dir": "/opt/App", "ports": []any{int64(1), int64(2)}, "é": "ü\"\\\n😀"},
			"key": "dir", "secret": "hunter2",
		},
		Inventory: &render.Inventory{
			Host:   render.NewLazy(func() map[string]any { return map[string]any{"name": "web1", "groups": []any{"web"}} }),
			Groups: render.NewLazy(func() map[string]any { return map[string]any{"web": []any{"web1", "web2"}} }),
			Hosts:  render.NewLazy(func() map[string]any { return map[string]any{"web2": map[string]any{"ip": "10.0.0.2"}} }),
		},
	}
}

func settle(t *testing.T, source string) (any, error) {
	text, err := jinja.Parse(source, at)
	require.NoError(t, err, source)
	return text.Settle(render.New(t.Context(), env()))
}

// TestSettle has what Ansible documents of its filters; the keys of to_json are in order.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		source string
		want   any
	}{
		{"plain", "plain"}, {"", ""}, {"}} {", "}} {"},
		{"{{ base }}/x", "/srv/x"}, {"{{base}}", "/srv"}, {"{{ port }}", int64(80)}, {"{{ list }}", []any{"a", int64(2), true}},
		{"{{ on }}", true}, {"{{ on }}!", "True!"}, {"x{{ nothing }}", "x"}, {"{{ ratio }}s", "1.5s"}, {"{{ evil }}", "{{ base }}"},
		{"{{ app.dir }}", "/opt/App"}, {"{{ app['dir'] }}{{ app[key] }}", "/opt/App/opt/App"}, {"{{ app.ports[0] }}", int64(1)}, {"{{ list[-1] }}", true},
		{"{{ 'a\\'b' }}{{ \"c\" }}", "a'bc"}, {"{{ 5 }}", int64(5)}, {"{{ 1.5 }}", 1.5}, {"{{ true }}", true}, {"{{ none }}", nil},
		{"{{ inventory_hostname }}", "web1"}, {"{{ group_names | join }}", "web"}, {"{{ groups['web'] | join(',') }}", "web1,web2"},
		{"{{ hostvars['web2'].ip }}", "10.0.0.2"}, {"{{ hostvars[groups.web[1]]['ip'] }}", "10.0.0.2"},
		{"{{ nope | default('x') }}", "x"}, {"{{ nope | default(port) }}", int64(80)}, {"{{ nope | d }}", ""}, {"{{ a.b.c | default('x') }}", "x"},
		{"{{ empty | default('x') }}", ""}, {"{{ empty | default('x', true) }}", "x"}, {"{{ nothing | default('x') }}", nil}, {"{{ off|default(1, True) }}", int64(1)},
		{"{{ list | join('-') }}", "a-2-True"}, {"{{ 'AbÉ' | lower }}{{ 'é' | upper }}", "abéÉ"}, {"{{ on | lower }}", "true"},
		{"{{ ' 5 ' | int }}", int64(5)}, {"{{ '5.9' | int }}", int64(5)}, {"{{ 'x' | int }}", int64(0)}, {"{{ 'x' | int(7) }}", int64(7)}, {"{{ on | int }}", int64(1)},
		{"{{ 'yes' | bool }}", true}, {"{{ 'no' | bool }}", false}, {"{{ 1 | bool }}", true}, {"{{ 'x' | bool }}", false}, {"{{ none | bool }}", nil},
		{"{{ app | to_json }}", `{"dir": "/opt/App", "ports": [1, 2], "\u00e9": "\u00fc\"\\\n\ud83d\ude00"}`}, {"{{ nothing | to_json }}", "null"}, {"{{ ratio | to_json }}", "1.5"},
		{"{{ 'a' | b64encode }}", "YQ=="}, {"{{ app.dir | basename }}", "App"}, {"{{ '/a/' | basename }}", ""}, {"{{ app.dir | replace('/', '-') | lower }}", "-opt-app"},
		{"{{ 'aaa' | replace('a', 'b', 2) }}", "bba"}, {"{{ port | replace(8, 9) }}", "90"},
	} {
		got, err := settle(t, c.source)
		require.NoError(t, err, c.source)
		require.Equal(t, c.want, got, c.source)
	}
}

func TestSettleErrors(t *testing.T) {
	for source, want := range map[string]string{
		"{{ bas }}":           "hosts.yaml:3:8: there is no variable \"bas\"\n  hint: did you mean \"base\"?; give a default with bas | default('…')",
		"x{{ app.nope }}":     "hosts.yaml:3:9: there is no variable \"app.nope\"\n  hint: give a default with app.nope | default('…')",
		"{{ nope | lower }}":  "hosts.yaml:3:8: there is no variable \"nope\"\n  hint: give a default with nope | default('…')",
		"{{ app[nope] }}":     "hosts.yaml:3:8: there is no variable \"nope\"\n  hint: give a default with nope | default('…')",
		"x{{ list }}":         "hosts.yaml:3:9: a list in a text\n  hint: use join(', ') or to_json",
		"{{ secret | join }}": "hosts.yaml:3:8: join: needs a list, not a string",
	} {
		_, err := settle(t, source)
		require.EqualError(t, err, want, source)
	}
}

func TestParseErrors(t *testing.T) {
	for source, want := range map[string]string{
		"{% if x %}y{% endif %}": "{%", "a{# b #}": "{#", "{{ x": "an expression that does not end", "{{ }}": `"}"`,
		"{{ x | regex_replace('a') }}": `the filter "regex_replace"`, "{{ lookup('env', 'HOME') }}": `the function "lookup"`,
		"{{ a + b }}": `"+"`, "{{ a if b else c }}": `"if"`, "{{ not a }}": `"not"`, "{{ a.b() }}": `the function "a.b"`, "{{- a }}": `"-"`,
		"{{ a ~ 'hunter2' }}": `"~"`, "{{ x | replace('a') }}": `the filter "replace" with 1 arguments`, "{{ [1] }}": `"["`, "{{ 'a }}": "a text whose quote is not closed",
		"{{ ansible_check_mode }}": `the variable "ansible_check_mode" of a run of Ansible`, "{{ x | default(value='y') }}": `"="`, "{{ 'a\\x' }}": `the escape \x`,
		"{{ x | }}": `"}"`, "{{ x.0 }}": `"0"`, "{{ 99999999999999999999 }}": "the number 1e+20",
	} {
		_, err := jinja.Parse(source, at)
		require.EqualError(t, err, want, source)
	}
}

func TestReadsAndTaint(t *testing.T) {
	text, err := jinja.Parse("{{ a.b }}{{ c[key] | default(d) }}{{ inventory_hostname }}", at)
	require.NoError(t, err)
	paths, all := text.Reads().WithoutFiles().Data()
	require.Equal(t, []string{"a.b", "c", "d", "key"}, paths)
	require.False(t, all)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "key": true} {
		require.Equal(t, want, text.FromHost(render.Taint{Data: map[string]bool{key: true}}), key)
	}
	for source, want := range map[string]bool{
		"{{ hostvars[x].ip }}": false, "{{ hostvars['a'].ip }}": false, "{{ hostvars[x].facts.os }}": true, "{{ hostvars[x][y] }}": true, "{{ hostvars | to_json }}": true,
	} {
		text, err := jinja.Parse(source, at)
		require.NoError(t, err)
		require.Equal(t, want, text.FromHost(render.Taint{}), source)
	}
}

// FuzzParse holds that what is understood ends, gives a plain value or a placed error, and that
// no value stands in an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"{{ base }}/x", "{{ app['dir'] | default(\"x\", true) }}", "{{ list|join(',') }}{{ hostvars[inventory_hostname] }}", "{{ a[b[c[0]]] | int(5) }}", "{% x %}", "{{ '\\n' | b64encode }}", "{{ app | to_json }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text, err := jinja.Parse(source, at)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		value, err := text.Settle(render.New(t.Context(), env()))
		if err == nil {
			_, err = render.PlainCopy(nil, value)
			require.NoError(t, err)
			return
		}
		require.Contains(t, err.Error(), "hosts.yaml:3")
		if !strings.Contains(source, "hunter") {
			require.NotContains(t, err.Error(), "hunter2")
		}
	})
}
