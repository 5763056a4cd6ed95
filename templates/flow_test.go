package templates_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// tainted is a host that has had a say in Data.sent and, below each, in Item.
var tainted = templates.Taint{Data: map[string]bool{"sent": true}, Item: true}

func TestFromHostThroughData(t *testing.T) {
	for source, want := range map[string]bool{
		"{{ Data.sent }}":                       true,
		"{{ Data.sent.deep[0] }}":               true,
		"{{ Data['sent'] }}":                    true,
		"{{ Data.mine }}":                       false,
		"{{ Data[Data.mine] }}":                 true,
		"{{ lookup('data.sent.x') }}":           true,
		"{{ lookup('data.mine') }}":             false,
		"{{ lookup('data.' + Data.mine) }}":     true,
		"{{ lookup('@this.data') }}":            true,
		"{{ Item.name }}":                       true,
		"{{ lookup('item.name') }}":             true,
		"{{ Environ.HOME }}":                    false,
		"{{ let a = Data.mine; a }}":            true, // the key is unknown
		"{{ let a = Environ.HOME; a }}":         false,
		"{{ Data.sent == 'a' ? 'b' : 'c' }}":    false,
		"{{ upper(Data.mine) + Data.sent }}":    true,
		"{{ file('a') }}":                       false,
		"{{ template('a {{ Environ.HOME }}')}}": true, // rendered text is not analysed
	} {
		text, err := templates.Parse(source, templates.Position{})
		require.NoError(t, err, source)
		require.Equal(t, want, text.FromHost(tainted), source)
	}
}

const hostileHint = `: file: data from a host cannot choose which file ccm-push reads
  hint: choose between fixed file names, such as Facts.x == "y" ? "a.conf" : "b.conf"`

// TestHostilePathsAreRefused knows the ways from a fact to a path that can be
// seen without the data.
func TestHostilePathsAreRefused(t *testing.T) {
	for source, at := range map[string]string{
		"{{ file(Facts.x) }}":                                   "site.yaml:7:15",
		"{{ 'a' + file('b/' + Facts.x) }}":                      "site.yaml:7:21",
		"{{ let p = Facts.x; file(p) }}":                        "site.yaml:7:32",
		"{{ map([Facts.x], file(#)) }}":                         "site.yaml:7:30",
		"{{ file(lookup('facts.x')) }}":                         "site.yaml:7:15",
		"{{ file(lookup('data.x', Facts.x)) }}":                 "site.yaml:7:15",
		"{{ file(template('{{ Facts.x }}')) }}":                 "site.yaml:7:15",
		"{{ file(jet('[[ Facts.x ]]')) }}":                      "site.yaml:7:15",
		"{{ let p = jet('[[ Facts.x ]]'); file(p) }}":           "site.yaml:7:45",
		"{{ jet('[[ file(Facts.x) ]]') }}":                      "site.yaml:7:23",
		"{{ jet('[[ file(template(\"{{ Facts.x }}\")) ]]') }}":  "site.yaml:7:23",
		"{{ jet('[[ p := jet(\"x.jet\") ]][[ file(p) ]]') }}":   "site.yaml:7:46",
		"{{ jet('[[ range Facts.l ]][[ file(.) ]][[ end ]]')}}": "site.yaml:7:42",
		"{{ jet('[[ Facts.x | file ]]') }}":                     "site.yaml:7:33",
	} {
		_, err := templates.Parse(source, templatetest.Manifest)
		require.EqualError(t, err, at+hostileHint, source)
	}
}

// TestCheckPaths knows those for which one must know what the data is made of.
func TestCheckPaths(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"item.templ": "a\n{{ file(Item) }}",
		"data.jet":   "[[ d := data ]][[ file(d.sent) ]]",
		"mine.jet":   "[[ file(data.mine) ]]",
	})
	for source, want := range map[string]string{
		"{{ file(Data.mine) }}":                       "",
		"{{ file(Data.sent) }}":                       "site.yaml:7:15" + hostileHint,
		"{{ file(Item.path) }}":                       "site.yaml:7:15" + hostileHint,
		"{{ file(Data.sent == 'a' ? 'a' : 'b') }}":    "",
		"{{ let d = Data; file(d.mine) }}":            "site.yaml:7:29" + hostileHint,
		"{{ template('{{ file(Data.sent) }}') }}":     "site.yaml:7:28" + hostileHint,
		"{{ template('item.templ') }}":                "item.templ:2:4" + hostileHint,
		"{{ jet('[[ template(\"item.templ\") ]]') }}": "item.templ:2:4" + hostileHint,
		"{{ jet('data.jet') }}":                       "data.jet:1:19" + hostileHint,
		"{{ jet('mine.jet') }}":                       "",
		"{{ template('missing.templ') }}":             "", // not its business
	} {
		text, err := templates.Parse(source, templatetest.Manifest)
		require.NoError(t, err, source)
		require.NoError(t, text.CheckPaths(files, templates.Taint{}), source)
		err = text.CheckPaths(files, tainted)
		if want == "" {
			require.NoError(t, err, source)
		} else {
			require.EqualError(t, err, want, source)
		}
	}
}

// TestShadowedRoots has variables with the names of roots hold what a host sent.
func TestShadowedRoots(t *testing.T) {
	for source, at := range map[string]string{
		"[[ range i, item := Facts.l ]][[ file(item.n) ]][[ end ]]":                     "t.jet:1:34",
		"[[ range item := Facts.l ]][[ file(item) ]][[ end ]]":                          "t.jet:1:31",
		"[[ data := Facts ]][[ file(data.x) ]]":                                         "t.jet:1:23",
		"[[ a, Environ := 1, Facts.x ]][[ file(Environ) ]]":                             "t.jet:1:34",
		"[[ if data := Facts.x; true ]][[ file(data) ]][[ end ]]":                       "t.jet:1:34",
		"[[ block b(item=\"a\") ]][[ file(item) ]][[ end ]][[ yield b(item=Facts.x) ]]": "t.jet:1:27",
	} {
		_, err := templates.ParseJet(source, diag.WholeFile("t.jet"), templates.Delims{}, nil)
		require.EqualError(t, err, at+hostileHint, source)
	}
	_, err := templates.ParseJet("[[ range item := data.l ]][[ file(item.n) ]][[ end ]]", diag.WholeFile("t.jet"), templates.Delims{}, nil)
	require.NoError(t, err)
}

func TestHostilePathsInGo(t *testing.T) {
	for source, at := range map[string]string{
		`{{ define "t" }}{{ file .n }}{{ end }}{{ range .Facts.l }}{{ template "t" . }}{{ end }}`: "t.tmpl:1:20",
		`{{ define "t" }}{{ file $.x }}{{ end }}{{ template "t" .Facts }}`:                        "t.tmpl:1:20",
		`{{ define "t" }}{{ file (.x | trim) }}{{ end }}{{ template "t" .Facts }}`:                "t.tmpl:1:20",
		`{{ define "t" }}{{ file (get . "x") }}{{ end }}{{ template "t" .Facts }}`:                "t.tmpl:1:20",
		`{{ define "t" }}{{ file .Data.x }}{{ end }}{{ template "t" (dict "Data" .Facts) }}`:      "t.tmpl:1:20",
		`{{ block "t" .Facts }}{{ .x | file }}{{ end }}`:                                          "t.tmpl:1:26",
		`{{ file .Facts.x }}`:                          "t.tmpl:1:4",
		`{{ print (file .Facts.x) }}`:                  "t.tmpl:1:11",
		`{{ file (jet "[[ Facts.x ]]") }}`:             "t.tmpl:1:4",
		`{{ $p := jet "[[ Facts.x ]]" }}{{ file $p }}`: "t.tmpl:1:35",
	} {
		_, err := templates.ParseGo(source, diag.WholeFile("t.tmpl"), templates.Delims{})
		require.EqualError(t, err, at+hostileHint, source)
	}
}

// TestComputedPathsStayUnsaid lets a host send the path of a lookup, and checks that no error shows it.
func TestComputedPathsStayUnsaid(t *testing.T) {
	env := &templates.Env{Facts: map[string]any{"x": "data.hunter2"}, Data: map[string]any{}}
	for source, want := range map[string]string{
		"{{ lookup(Facts.x) }}":              "site.yaml:7:15: lookup: the computed path has no value\n  hint: give a default: lookup(…, …)",
		"{{ lookup(Facts.x, 1) }}":           "",
		"{{ lookup(1) }}":                    "site.yaml:7:15: lookup: the path must be a string, not an integer",
		"{{ jet('[[ lookup(Facts.x) ]]') }}": "site.yaml:7:23: lookup: the computed path has no value\n  hint: give a default: lookup(…, …)",
	} {
		text, err := templates.Parse(source, templatetest.Manifest)
		require.NoError(t, err)
		_, err = text.String(t.Context(), env)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
}

func TestDefinedTemplatesMayReadFiles(t *testing.T) {
	for _, source := range []string{
		`{{ define "t" }}{{ file "a" }}{{ end }}{{ template "t" . }}{{ .Facts.x }}`,
		`{{ define "t" }}{{ file .n }}{{ end }}{{ template "t" (dict "n" "a") }}`,
	} {
		_, err := templates.ParseGo(source, diag.WholeFile("t.tmpl"), templates.Delims{})
		require.NoError(t, err, source)
	}
}
