package j2_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// TestTagsThatEndWhereTheyBegin has tags whose last characters could be their first ones too.
func TestTagsThatEndWhereTheyBegin(t *testing.T) {
	for text, want := range map[string]string{
		"{#}":                         "line 1: {#} is not closed",
		"a\n{#} b":                    "line 2: {#} b is not closed",
		"{%raw%}{%}":                  "line 1: {% raw %} is not closed",
		"{%raw%}{%}{{ x }}{% endraw ": "line 1: {% raw %} is not closed",
		"{%}":                         "line 1: {%} is not closed",
		"{{}":                         "line 1: {{} is not closed",
	} {
		_, err := j2.ParseTemplate(text, j2.Options{})
		require.EqualError(t, err, want, "%q", text)
	}
	for text, want := range map[string]j2.Node{
		"{##}":                      {Kind: j2.Comment, Line: 1, Raw: "{##}"},
		"{#}#}":                     {Kind: j2.Comment, Line: 1, Raw: "{#}#}", Text: "}"},
		"{%raw%}{%} %}{% endraw %}": {Kind: j2.Text, Line: 1, Text: "{%} %}"},
		"{% raw %}{{ x }}{% y %}{%- endraw -%}\n": {Kind: j2.Text, Line: 1, Text: "{{ x }}{% y %}"},
	} {
		nodes, err := j2.ParseTemplate(text, j2.Options{})
		require.NoError(t, err, "%q", text)
		require.NotEmpty(t, nodes)
		require.Equal(t, want, *nodes[0], "%q", text)
	}
}

// FuzzTemplate holds that each node comes from the text: its lines are in order and within it.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"{#}", "{%raw%}{%}", "{% if a %}b{% elif c %}d{% else %}e{% endif %}\n", "{% for a, b in c if d %}{{ a }}{% else %}x{% endfor %}",
		"{% macro m(a, b=1) %}{{ a ~ b }}{% endmacro %}", "{% set x = [1, 2.5, 'a\\n'] %}{%- raw -%} {{ {% endraw %}", "{{ {'a': {}} }}{# c #}\n{% include 'x' %}"} {
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, option bool) {
		nodes, err := j2.ParseTemplate(text, j2.Options{KeepLineBreaks: option, AsIs: option})
		if err != nil {
			require.Regexp(t, "^line [0-9]+: ", err.Error())
			return
		}
		line := 1
		for _, n := range nodes {
			require.GreaterOrEqual(t, n.Line, line, "%q", text)
			line = n.Line
			require.Contains(t, text, n.Raw)
		}
		require.LessOrEqual(t, line, 1+strings.Count(text, "\n"))
	})
}

// FuzzExpr holds that an expression is read in the same way in parentheses.
func FuzzExpr(f *testing.F) {
	for _, text := range []string{"a", "a.b[1:2] | d('x', e=1) is not f(2)", "not a in [1, (2, 3)] and {'k': -1}", "a if b else c", "x(1)(2)", "'\\q' ~ 1.5e3", "1__0", "a, b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := j2.ParseExpr(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := j2.ParseExpr("(" + text + "\n)")
		if err == nil { // else they nest too deep
			require.Equal(t, e, again, "%q", text)
		}
	})
}
