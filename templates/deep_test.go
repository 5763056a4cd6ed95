package templates_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// An errorCase is a source and its expected error.
type errorCase struct{ source, want string }

// TestDeepSources checks that deeply nested sources are handled without an overflow of the stack, which would end the
// whole program.
func TestDeepSources(t *testing.T) {
	nested := func(open, end string) string {
		n := render.MaxTemplate / 8 / len(open+end)
		return strings.Repeat(open, n) + strings.Repeat(end, n)
	}
	const tooMany = "deep:1:1: an expression with more than 1000 parentheses and operators"
	jets := []errorCase{
		{nested("[[ if 1 ]]", "[[ end ]]"), ""},
		{nested("[[ range slice(1) ]]", "[[ end ]]"), ""},
		{nested("[[ try ]]", "[[ end ]]"), ""},
		{nested("[[ if 1 ]]", ""), "deep:1: unexpected end of the template: an end is missing"},
		{strings.Repeat("[[", render.MaxTemplate/2), tooMany},
		{"[[ " + strings.Repeat("1+", 990) + "1 ]]", "991"},
		{"[[ " + strings.Repeat("(", 990) + "1" + strings.Repeat(")", 990) + " ]]", "1"},
		{"[[ " + strings.Repeat("!", 990) + "1 ]]", "true"},
		{"[[ Data" + strings.Repeat("[0]", 990) + " ]]", "deep:1:4: Data[0]: the key of a map must be a string, not a number"},
		{"[[ " + strings.Repeat("1+", 200000) + "1 ]]", tooMany},
		{"[[ " + strings.Repeat("(", 200000) + " ]]", tooMany},
	}
	for _, c := range jets {
		got, err := "", error(nil)
		tmpl, err := templates.ParseJet(c.source, diag.WholeFile("deep"), templates.Delims{}, nil)
		if err == nil {
			got, err = tmpl.Render(t.Context(), templatetest.Host(nil))
		}
		require.Equal(t, c.want, got+templatetest.ErrorText(err), "%.40s", c.source)
	}
	gos := []errorCase{
		{nested("{{if 1}}", "{{end}}"), ""},
		{nested("{{with 1}}", "{{end}}"), ""},
		{nested("{{if 1}}", ""), "deep:1: unexpected EOF"},
		{"{{" + strings.Repeat("(", 9000) + "1" + strings.Repeat(")", 9000) + "}}", "1"},
		{"{{" + strings.Repeat("(", 200000), "deep:1: max expression depth exceeded"},
	}
	for _, c := range gos {
		got, err := "", error(nil)
		tmpl, err := templates.ParseGo(c.source, diag.WholeFile("deep"), templates.Delims{})
		if err == nil {
			got, err = tmpl.Render(t.Context(), templatetest.Host(nil))
		}
		require.Equal(t, c.want, got+templatetest.ErrorText(err), "%.40s", c.source)
	}
	exprs := []string{
		strings.Repeat("1+", 8000) + "1", strings.Repeat("[", 16000), strings.Repeat("!", 16000) + "true", strings.Repeat("-", 16000) + "1",
		strings.Repeat("true ? ", 2000) + "1", "Data" + strings.Repeat(".a", 8000), "Data" + strings.Repeat(" ?? Data", 1500),
		strings.Repeat("map(", 2000) + "Data" + strings.Repeat(",#)", 2000), strings.Repeat("{a:", 5000),
	}
	for _, source := range exprs {
		e, err := templates.ParseExpr(source, templatetest.Manifest)
		if err == nil {
			_, err = e.Bool(t.Context(), templatetest.Host(nil))
		}
		require.Error(t, err, "%.40s", source)
	}
}
