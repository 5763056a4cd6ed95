package templates_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// TestPayloads sends every payload through every engine, as a value of facts, a key of facts, data computed from facts,
// and an item, and checks that it comes out unchanged.
func TestPayloads(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"x.templ":    "{{ Facts.evil }}|{{ lookup('facts.evil') }}|{{ Data.evil }}",
		"x.jet":      `[[ Facts.evil ]]|[[ lookup("facts.evil") ]]|[[ data.evil | raw ]]`,
		"secret.txt": "never",
	})
	engines := []string{
		"{{ Facts.evil }}",
		"${Facts['evil']}",
		"{{ lookup('facts.evil') }}",
		"{{ lookup('facts.e*l') }}",
		"{{ lookup('facts.nope', Facts.evil) }}",
		"{{ Facts.nope ?? Facts.evil }}",
		"{{ Data.evil }}",
		"{{ Item }}",
		"{{ Facts.list[0] }}",
		"{{ keys(Facts.map)[0] }}",
		"{{ join(Facts.list, '') }}",
		"{{ replace('@', '@', Facts.evil) }}",
		"{{ fromJSON(toJSON(Facts.evil)) }}",
		"{{ string(Facts.evil) + '' }}",
		"{{ template('{{ Facts.evil }}') }}",
		"{{ template('{{ template(\\'{{ Facts.evil }}\\') }}') }}",
		"{{ jet('[[ Facts.evil ]]') }}",
		"{{ jet('[[ lookup(\"facts.evil\") ]]') }}",
		"{{ jet('[[ range k, v := Facts.map ]][[ k ]][[ end ]]') }}",
		"{{ jet('[[ template(\"{{ Facts.evil }}\") ]]') }}",
		"{{ jet('[[ x := Facts.evil ]][[ try ]][[ x ]][[ end ]]') }}",
	}
	texts := make([]*templates.Text, len(engines))
	for i, source := range engines {
		var err error
		texts[i], err = templates.Parse(source, templatetest.Manifest)
		require.NoError(t, err)
	}
	data, err := templatetest.Source(t, "data: {evil: '{{ Facts.evil }}'}")
	require.NoError(t, err)
	goTmpl, err := templates.ParseGo(`{{ .Facts.evil }}|{{ lookup "facts.evil" }}|{{ jet "[[ Facts.evil ]]" }}`, diag.WholeFile("x"), templates.Delims{})
	require.NoError(t, err)
	files3, err := templates.Parse("{{ template('x.templ') }}\x01{{ jet('x.jet') }}", templatetest.Manifest)
	require.NoError(t, err)

	list := templatetest.Payloads()
	require.Greater(t, len(list), 200)
	for _, evil := range list {
		facts := map[string]any{"evil": evil, "list": []any{evil}, "map": map[string]any{evil: "v"}}
		resolved, err := data.Resolve(t.Context(), facts)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"evil": evil}, resolved)
		env := &templates.Env{Facts: facts, Data: resolved, Item: evil, HasItem: true, Files: files}
		for i, text := range texts {
			got, err := text.String(t.Context(), env)
			require.NoError(t, err, engines[i])
			require.Equal(t, evil, got, engines[i])
		}
		thrice := evil + "|" + evil + "|" + evil
		got, err := goTmpl.Render(t.Context(), env)
		require.NoError(t, err)
		require.Equal(t, thrice, got)
		got, err = files3.String(t.Context(), env)
		require.NoError(t, err)
		require.Equal(t, thrice+"\x01"+thrice, got)
	}
}

// TestPayloadsThroughSprig sends every payload through pipelines of Go templates as a value, and checks that it comes
// out unchanged.
func TestPayloadsThroughSprig(t *testing.T) {
	pipes := []string{
		`{{ .Facts.evil | default "" }}`,
		`{{ .Facts.nope.x | default .Facts.evil }}`,
		`{{ coalesce .Facts.nope "" .Facts.evil "" | default "" }}`,
		`{{ .Facts | dig "nope" "x" .Facts.evil }}`,
		`{{ get .Facts "evil" }}`,
		`{{ index (pluck "evil" .Facts) 0 }}`,
		`{{ .Facts.evil | b64enc | b64dec }}`,
		`{{ .Facts.evil | b32enc | b32dec }}`,
		`{{ dict "x" .Facts.evil | toJson | fromJson | dig "x" "never" }}`,
		`{{ first (fromJson (toRawJson (list .Facts.evil))) }}`,
		`{{ list .Facts.evil | join "," }}`,
		`{{ .Facts.list | reverse | uniq | concat | first }}`,
		`{{ splitList "@sep@" .Facts.evil | join "@sep@" }}`,
		`{{ keys .Facts.map | first }}`,
		`{{ keys (dict .Facts.evil 1) | first }}`,
		`{{ (set (dict) "k" .Facts.evil).k }}`,
		`{{ (merge (dict "a" 1) (dict "k" .Facts.evil)).k }}`,
		`{{ (set .Facts "copy" .Facts.evil).copy }}`,
		`{{ replace "@old@" .Facts.evil "@old@" }}`,
		`{{ regexReplaceAllLiteral "^@$" "@" .Facts.evil }}`,
		`{{ repeat 1 .Facts.evil }}{{ trunc 0 .Facts.evil }}`,
		`{{ cat .Facts.evil }}`,
		`{{ print .Facts.evil }}`,
		`{{ printf "%s" .Facts.evil }}`,
		`{{ toString .Facts.evil | indent 0 | replace "@" "@" }}`,
		`{{ ternary .Facts.evil "never" true }}`,
		`{{ deepCopy .Facts.list | last }}`,
		`{{ $x := .Facts.evil }}{{ range list $x }}{{ . }}{{ end }}`,
		`{{ with .Facts.evil | default "" }}{{ . }}{{ end }}`,
		`{{ env "EVIL" }}`,
		`{{ expandenv "$EVIL" }}`,
	}
	tmpls := make([]*templates.Template, len(pipes))
	for i, source := range pipes {
		var err error
		tmpls[i], err = templates.ParseGo(source, diag.WholeFile("x"), templates.Delims{})
		require.NoError(t, err, source)
	}
	for _, evil := range templatetest.Payloads() {
		env := &templates.Env{
			Facts:   map[string]any{"evil": evil, "list": []any{evil}, "map": map[string]any{evil: "v"}},
			Environ: map[string]any{"EVIL": evil},
		}
		for i, tmpl := range tmpls {
			got, err := tmpl.Render(t.Context(), env)
			require.NoError(t, err, pipes[i])
			require.Equal(t, evil, got, pipes[i])
		}
		require.Len(t, env.Facts, 3)
	}
}
