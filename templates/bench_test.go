package templates_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// benchJet returns a configuration file of about 4 KB.
func benchJet() string {
	section := `# [[ Data.name ]] on [[ Facts.host.info.os ]]
[[ range i, u := Data.users -]]
user_[[ i ]] = [[ u.name ]]:[[ u.id ]]
[[ end -]]
[[ if Data.on ]]listen = [[ lookup("data.port") ]][[ else ]]listen = 80[[ end ]]
limit = [[ lookup("data.limit", 1024) ]]
`
	return strings.Repeat(section+strings.Repeat("# a comment of some length\n", 6), 9)
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := templates.Parse("/etc/{{ Data.name }}/${ lookup('data.port') }.conf", templatetest.Manifest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	for name, source := range map[string]string{
		"lookup": "{{ lookup('facts.host.info.os') }}",
		"member": "{{ Facts.host.info.os }}",
		"text":   "/etc/{{ Data.name }}/${ lookup('data.port') }.conf",
	} {
		b.Run(name, func(b *testing.B) {
			text, err := templates.Parse(source, templatetest.Manifest)
			require.NoError(b, err)
			env := templatetest.Host(nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := text.Eval(b.Context(), env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJetFile renders a file of 4 KB for one host, parsed before.
func BenchmarkJetFile(b *testing.B) {
	source := benchJet()
	files := templatetest.Open(b, map[string]string{"a.jet": source})
	text, err := templates.Parse("{{ template('a.jet') }}", templatetest.Manifest)
	require.NoError(b, err)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := text.String(b.Context(), templatetest.Host(files)); err != nil {
			b.Fatal(err)
		}
	}
}
