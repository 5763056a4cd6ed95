package gotemplate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

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
