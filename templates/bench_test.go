package templates

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchJet is a configuration file of about 4 KB.
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
		if _, err := Parse("/etc/{{ Data.name }}/${ lookup('data.port') }.conf", manifest); err != nil {
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
			text, err := Parse(source, manifest)
			require.NoError(b, err)
			env := sampleEnv(nil)
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
	files := openFiles(b, map[string]string{"a.jet": source})
	text, err := Parse("{{ template('a.jet') }}", manifest)
	require.NoError(b, err)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := text.String(b.Context(), sampleEnv(files)); err != nil {
			b.Fatal(err)
		}
	}
}
