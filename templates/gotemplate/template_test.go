package gotemplate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/gotemplate"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// An errorCase is a source and its expected error.
type errorCase struct{ source, want string }

func goCases() []errorCase { // source, output
	return []errorCase{
		{"", ""},
		{"plain [[ x ]]", "plain [[ x ]]"},
		{"{{ .Data.name }} {{ .data.port }} {{ .facts.host.info.os }} {{ $.Environ.HOME }}", "web 8080 linux /root"},
		{"{{ .data.ratio }} {{ .data.big }} {{ .data.on }}", "1.5 1e+21 true"},
		{`{{ lookup "data.port" }} {{ lookup "data.nope" "dflt" }} {{ lookup "data.list.#" }}`, "8080 dflt 3"},
		{"{{ range $i, $x := .data.list }}{{ $i }}{{ $x }} {{ end }}", "0a 1b 2c "},
		{"{{ range .data.users }}{{ .name }}{{ end }}", "annbob"},
		{"{{ range $k, $v := .data.nested }}{{ $k }}={{ $v }};{{ end }}", "a.b=dotted;port=80;with space=s;"},
		{"{{ range 3 }}{{ . }}{{ end }}{{ with .data.nested }}{{ .port }}{{ end }}", "01280"},
		{`{{ if eq .data.port 8080 }}yes{{ else }}no{{ end }} {{ printf "%05d" .data.port }} {{ len .data.list }}`, "yes 08080 3"},
		{`{{ define "a" }}<{{ . }}>{{ end }}{{ template "a" .data.name }}{{ template "a" "x" }}`, "<web><x>"},
		{`{{ $x := .data.port }}{{ $x }}{{ $x = 1 }}{{ $x }}`, "80801"},
		{`{{ file "plain.txt" }}`, "<b> \x00\xff & \"quotes\"\n"},
		{`{{ readFile "dir/other.jet" }} {{ jet "dir/other.jet" }} {{ jet "<< Data.port >>" "<<" ">>" }}`, "other other 8080"},
		{`{{ index .data.nested "with space" }}`, "s"},
		{`{{ "{{ .data.name }}" }}`, "{{ .data.name }}"},
		{`{{ "<&>" }}`, "<&>"},
	}
}

func TestGo(t *testing.T) {
	env := templatetest.Host(templatetest.Open(t, templatetest.JetFolder()))
	for _, c := range goCases() {
		t.Run(c.source, func(t *testing.T) {
			got, err := templatetest.RenderGo(t, c.source, env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestGoDelimiters(t *testing.T) {
	tmpl, err := templates.ParseGo("<< .data.port >> {{ x }}", diag.WholeFile("a"), templates.Delims{Left: "<<", Right: ">>"})
	require.NoError(t, err)
	got, err := tmpl.Render(t.Context(), templatetest.Host(nil))
	require.NoError(t, err)
	require.Equal(t, "8080 {{ x }}", got)
}

func goErrorCases() []errorCase {
	hostile := ": file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""
	literal := ": the argument of \"jet\" must be a fixed text or file name, not a computed value\n  hint: write the file name or the template text directly, in quotes"
	return []errorCase{
		{"a\n {{ .data.nope }}", "motd.tmpl:2:10: missing key \"nope\" in .data.nope\n  hint: give a default: .data.nope | default \"…\""},
		{"{{ .dat.name }}", "motd.tmpl:1:8: missing key \"dat\" in .dat.name\n  hint: did you mean \"data\"?"},
		{"{{ .Item }}", "motd.tmpl:1:4: .Item is not available here"},
		{"{{ .data.name.x }}", "motd.tmpl:1:9: .data.name.x: unknown key \"x\""},
		{"{{ .data.list }}", "motd.tmpl:1:4: a list in a text\n  hint: use \"range\", \"join\" or \"toJson\""},
		{"{{ .data.nothing }}", "motd.tmpl:1:4: nil in a text\n  hint: test it with \"if\", or give a default with \"or\""},
		{`{{ lookup "data.nope" }}`, "motd.tmpl:1:4: missing key \"data.nope\"\n  hint: data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write lookup(\"data.nope\", DEFAULT)"},
		{`{{ lookup }}`, `motd.tmpl:1:4: "lookup" takes 1 or 2 arguments, not 0`},
		{"{{ nope }}", "motd.tmpl:1:4: function \"nope\" is not defined\n  hint: use functions of Go's text/template or Sprig, or \"lookup\", \"file\", \"readFile\" or \"jet\""},
		{"\n{{ if }}", "motd.tmpl:2: missing value for if"},
		{"{{ if .data.on }}", "motd.tmpl:1: unexpected EOF"},
		{"{{ range .data.secret }}{{ end }}", "motd.tmpl:1:15: .data.secret cannot be evaluated with these values"},
		{"{{ index .data.list 9 }}", `motd.tmpl:1:4: index .data.list 9: "index" cannot be called with these values`},
		{"{{ index .data.nested .data.port }}", `motd.tmpl:1:4: index .data.nested .data.port: "index" cannot be called with these values`},
		{"{{ len .data.port }}", `motd.tmpl:1:4: len .data.port: "len" cannot be called with these values`},
		{"{{ eq .data.port .data.secret }}", "motd.tmpl:1:4: eq .data.port .data.secret: error calling eq: incompatible types for comparison: int and string"},
		{"{{ file .facts.host.info.os }}", "motd.tmpl:1:4" + hostile},
		{"{{ .facts.host.info.os | file }}", "motd.tmpl:1:4" + hostile},
		{`{{ file (printf "x%s" .facts.host.info.os) }}`, "motd.tmpl:1:4" + hostile},
		{`{{ file (lookup "facts.host.info.os") }}`, "motd.tmpl:1:4" + hostile},
		{"{{ $p := .facts.host.info.os }}{{ file $p }}", "motd.tmpl:1:35" + hostile},
		{"{{ with .facts.host }}{{ file .name }}{{ end }}", "motd.tmpl:1:26" + hostile},
		{"{{ jet .data.name }}", "motd.tmpl:1:13" + literal},
		{"{{ .data.name | jet }}", "motd.tmpl:1:17" + literal},
		{"{{ $j := \"x\" }}{{ jet $j }}", "motd.tmpl:1:23" + literal},
		{`{{ jet "[[ Data.nope ]]" }}`, "motd.tmpl:1:7: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, `motd.tmpl:1:29: {{template "a"}}: exceeded maximum template depth (100000)`},
		{"{{ range 99999999 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}", "motd.tmpl:1:1: the text grows beyond 16 MiB"},
		{strings.Repeat("x", render.MaxTemplate+1), "motd.tmpl:1:1: a template of more than 1 MiB"},
	}
}

func TestGoErrors(t *testing.T) {
	env := templatetest.Host(templatetest.Open(t, templatetest.JetFolder()))
	for _, c := range goErrorCases() {
		name := c.source[:min(len(c.source), 60)]
		t.Run(name, func(t *testing.T) {
			got, err := templatetest.RenderGo(t, c.source, env)
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Empty(t, got)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestGoEnds(t *testing.T) {
	tmpl, err := templates.ParseGo("{{ range 9000000000 }}{{ end }}", diag.WholeFile("motd.tmpl"), templates.Delims{})
	require.NoError(t, err)
	_, err = tmpl.Render(templatetest.Expiring(t.Context(), 50), templatetest.Host(nil))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, "motd.tmpl:1:1: rendering did not end in time: context deadline exceeded")
}

// TestGoTemplateFile checks that files of the play in the language of text/template behave like files in the other
// languages.
func TestGoTemplateFile(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"ports.gotmpl": `{{ range $u := lookup "data.users" }}{{ $u.name }}={{ $u.id }} {{ end }}on {{ lookup "facts.evil" }} & <b>`,
		"bad.gotmpl":   "one\n{{ lookup \"data.nope\" }}",
		"wrong.gotmpl": "{{ range }}",
	})
	env := templatetest.Host(files)
	env.Facts["evil"] = `{{ lookup "data.secret" }}`
	text, err := templates.Parse(`{{ template("ports.gotmpl") }}!`, templates.Position{})
	require.NoError(t, err)
	out, err := text.String(t.Context(), env)
	require.NoError(t, err)
	require.Equal(t, `ann=1 bob=2 on {{ lookup "data.secret" }} & <b>!`, out)
	paths, all := text.Facts(files)
	require.Equal(t, []string{"evil"}, paths)
	require.False(t, all)

	text, err = templates.Parse(`{{ template("bad.gotmpl") }}`, templates.Position{File: "site.yaml", Line: 3, Column: 5})
	require.NoError(t, err)
	_, err = text.String(t.Context(), env)
	require.ErrorContains(t, err, `bad.gotmpl:2:`)
	require.ErrorContains(t, err, `missing key "data.nope"`)

	text, err = templates.Parse(`{{ template("wrong.gotmpl") }}`, templates.Position{})
	require.NoError(t, err)
	require.ErrorContains(t, text.Check(files), "wrong.gotmpl:1", "found before any host")
}

// TestSprigCopiesWhereNeeded has only templates that change maps get copies.
func TestSprigCopiesWhereNeeded(t *testing.T) {
	for source, changes := range map[string]bool{
		`{{ .data.x | default "set" }}{{ deepCopy .data }}{{ dict "a" 1 }}`:          false,
		`{{ define "a" }}{{ if true }}{{ $x := (set . "a" 1).b }}{{ end }}{{ end }}`: true,
		`{{ print (.data | mustMergeOverwrite (dict)) }}`:                            true,
	} {
		tmpl, err := templates.ParseGo(source, diag.WholeFile("x"), templates.Delims{})
		require.NoError(t, err)
		require.Equal(t, changes, gotemplate.ChangesMaps(tmpl), source)
	}
}

func FuzzGo(f *testing.F) {
	for _, c := range append(goCases(), goErrorCases()...) {
		f.Add(c.source[:min(len(c.source), 100)], "x")
	}
	for _, payload := range templatetest.Payloads() {
		f.Add("{{ .facts.evil }}", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		tmpl, err := templates.ParseGo(source, diag.WholeFile("fuzz.tmpl"), templates.Delims{})
		if err != nil {
			templatetest.CheckFuzzed(t, source, value, nil, err)
			return
		}
		tmpl.Facts(nil)
		out, err := tmpl.Render(templatetest.Expiring(t.Context(), 2000), templatetest.HostileHost(value))
		templatetest.CheckFuzzed(t, source, value, out, err)
	})
}

// BenchmarkGo renders a template for one host, parsed before: one of plain
// text/template and one that uses functions of Sprig.
func BenchmarkGo(b *testing.B) {
	plain := `{{ range $u := .data.users }}{{ $u.name }}={{ $u.id }} {{ end }}on {{ .facts.host.info.os }} {{ lookup "data.port" }}` + "\n"
	for name, source := range map[string]string{
		"plain": plain,
		"4KB":   strings.Repeat("# a comment of some length\n", 120) + strings.Repeat(plain, 8),
	} {
		b.Run(name, func(b *testing.B) {
			t, err := templates.ParseGo(source, diag.WholeFile("bench.gotmpl"), templates.Delims{})
			require.NoError(b, err)
			env := templatetest.Host(nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.Render(b.Context(), env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
