package templates_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func TestFacts(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"a.templ":    "{{ Facts.host.info.os }}{{ template('b.templ') }}",
		"b.templ":    "{{ lookup('facts.cpu') }}{{ template('a.templ') }}",
		"a.jet":      `[[ facts.memory.virtual.total ]][[ lookup("facts.network.default_ipv4") ]][[ include "part.jet" ]]`,
		"part.jet":   `[[ Facts["partition"].usage[0].path ]][[ isset(facts.custom.x) ]]`,
		"all.jet":    "[[ range k, v := Facts ]][[ k ]][[ end ]]",
		"nested.jet": `[[ template("a.templ") ]]`,
		"broken.jet": "[[ if ]]",
	})
	cases := []struct {
		source string
		want   []string
		all    bool
	}{
		{"plain", nil, false},
		{"{{ Data.x }}{{ lookup('data.facts.x') }}", nil, false},
		{"{{ Facts.host.info.os }}", []string{"host.info.os"}, false},
		{`{{ Facts["host"].info["os"] ?? 'x' }}`, []string{"host.info.os"}, false},
		{"{{ Facts?.host?.info }}", []string{"host.info"}, false},
		{"{{ Facts.host[Data.key].x }}", []string{"host"}, false},
		{"{{ Facts.list[0].name }}", []string{"list"}, false},
		{"{{ filter(Facts.network.interfaces, .mtu > 5) | map(.name) }}", []string{"network.interfaces"}, false},
		{"{{ let h = Facts.host; h.info }}", []string{"host"}, false},
		{"{{ lookup('facts.host.info.os') }} ${ lookup('facts.cpu', 1) }", []string{"cpu", "host.info.os"}, false},
		{"{{ lookup('facts.network.interfaces.#.name') }}", []string{"network.interfaces"}, false},
		{"{{ lookup('facts.network.interfaces.#(mtu>5)#|@reverse') }}", []string{"network.interfaces"}, false},
		{"{{ lookup('facts') }}", nil, true},
		{"{{ lookup('facts.*') }}", nil, true},
		{"{{ lookup('*') }}", nil, true},
		{"{{ lookup('{facts,data}') }}", nil, true},
		{"{{ lookup('facts.' + Data.key) }}", nil, true},
		{"{{ Facts }}", nil, true},
		{"{{ Facts[Data.key] }}", nil, true},
		{"{{ keys(Facts) }}", nil, true},
		{"{{ 'x' in Facts }}", nil, true},
		{"{{ get(Facts, 'host') }}", nil, true},
		{"{{ template('a.templ') }}", []string{"cpu", "host.info.os"}, false},
		{"{{ template('{{ Facts.x.y }}') }}", []string{"x.y"}, false},
		{"{{ jet('[[ Facts.x.y ]]') }}", []string{"x.y"}, false},
		{"{{ jet('a.jet') }}", []string{"custom.x", "memory.virtual.total", "network.default_ipv4", "partition.usage"}, false},
		{"{{ jet('nested.jet') }}", []string{"cpu", "host.info.os"}, false},
		{"{{ jet('all.jet') }}", nil, true},
		{"{{ template('nope.templ') }}", nil, true},
		{"{{ jet('broken.jet') }}", nil, true},
		{"{{ file('a.templ') }}", nil, false},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			text, err := templates.Parse(c.source, templatetest.Manifest)
			require.NoError(t, err)
			paths, all := text.Facts(files)
			require.Equal(t, c.want, paths)
			require.Equal(t, c.all, all)
		})
	}
}

func TestGoTemplateFacts(t *testing.T) {
	cases := []struct {
		source string
		want   []string
		all    bool
	}{
		{"{{ .data.x }}", nil, false},
		{"{{ .Facts.host.info.os }}{{ $.facts.cpu }}", []string{"cpu", "host.info.os"}, false},
		{`{{ range .facts.network.interfaces }}{{ .name }}{{ lookup "facts.x.y" }}{{ . }}{{ end }}`, []string{"network.interfaces", "x.y"}, false},
		{`{{ with .facts }}{{ .host }}{{ end }}`, nil, true},
		{`{{ range $k, $v := . }}{{ $k }}{{ end }}`, nil, true},
		{`{{ define "a" }}{{ .facts.a }}{{ end }}{{ template "a" . }}`, []string{"a"}, false},
		{`{{ define "a" }}{{ .x }}{{ end }}{{ template "a" .facts.b }}`, []string{"b"}, false},
		{`{{ lookup .data.x }}`, nil, true},
		{`{{ jet "[[ facts.j ]]" }}`, []string{"j"}, false},
		{`{{ if (index $ "facts") }}{{ end }}`, nil, true},
		{`{{ index $ "facts" "cpu" }}{{ index .Facts "a" .data.x "b" }}`, []string{"a", "cpu"}, false},
		{`{{ .Facts.a.b | default "x" }}{{ default "x" $.facts.c }}{{ or .facts.d .facts.e }}`, []string{"a.b", "c", "d", "e"}, false},
		{`{{ get .Facts "x" }}{{ hasKey $.facts.host "y" }}{{ pluck "z" .facts }}`, []string{"host.y", "x", "z"}, false},
		{`{{ .Facts | dig "a" "b" "none" }}{{ dig "c" "none" .Facts.d }}`, []string{"a.b", "d.c"}, false},
		{`{{ .Facts | dig .data.x "none" }}`, nil, true},
		{`{{ dig .data.x "none" .Facts }}`, nil, true},
		{`{{ get .Facts .data.x }}`, nil, true},
		{`{{ .Facts | get "x" }}`, nil, true},
		{`{{ pluck "x" .Facts .facts.y }}`, nil, true},
		{`{{ $f := .Facts }}{{ $f.x }}`, nil, true},
		{`{{ keys .facts | first }}`, nil, true},
		{`{{ toJson . }}`, nil, true},
		{`{{ dict "f" .facts.x | toJson }}{{ .facts.y | quote }}`, []string{"x", "y"}, false},
		{`{{ list (get .facts "x") (.facts.y | upper) }}`, []string{"x", "y"}, false},
		{`{{ with .data }}{{ get $.facts "x" }}{{ end }}`, []string{"x"}, false},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			tmpl, err := templates.ParseGo(c.source, diag.WholeFile("a"), templates.Delims{})
			require.NoError(t, err)
			paths, all := tmpl.Facts(nil)
			require.Equal(t, c.want, paths)
			require.Equal(t, c.all, all)
		})
	}
}

func TestMentions(t *testing.T) {
	text, err := templates.Parse("{{ Item.name }} {{ lookup('data.x') }}", templatetest.Manifest)
	require.NoError(t, err)
	require.True(t, text.Mentions("Item"))
	require.True(t, text.Mentions("Data"))
	require.False(t, text.Mentions("Facts"))
	e, err := templates.ParseExpr("Facts.host.info.os == 'linux'", templatetest.Manifest)
	require.NoError(t, err)
	paths, all := e.Facts(nil)
	require.Equal(t, []string{"host.info.os"}, paths)
	require.False(t, all)
	require.False(t, e.Mentions("Data"))
	e, err = templates.ParseExpr("lookup(Data.x)", templatetest.Manifest)
	require.NoError(t, err)
	require.True(t, e.Mentions("Item"), "a computed path can lead anywhere")
}
