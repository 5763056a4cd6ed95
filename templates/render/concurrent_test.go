package render_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// All tests of the languages that start goroutines are in this file, so that no other package of templates needs the
// race detector.

func TestConcurrentUse(t *testing.T) {
	files := templatetest.Open(t, templatetest.JetFolder())
	source := "{{ jet('dir/inner.jet') }} {{ template('expr.templ') }} {{ lookup('data.users.#') }} {{ Environ.HOME }} {{ file('plain.txt') | len() }}"
	text, err := templates.Parse(source, templatetest.Manifest)
	require.NoError(t, err)
	shared := templatetest.Host(files)
	var wg sync.WaitGroup
	results := make([]string, 16)
	for i := range results {
		wg.Go(func() {
			env := shared
			if i%2 == 0 {
				env = templatetest.Host(files)
			}
			results[i], _ = text.String(t.Context(), env)
		})
	}
	wg.Wait()
	for _, got := range results {
		require.Equal(t, "inner+other port 8080 2 /root 18", got)
	}
}

// Hosts that are rendered with the same Jet template at the same time share nothing.
func TestHostsAtTheSameTime(t *testing.T) {
	var all []*templates.Template
	for _, source := range templatetest.FailingJet() {
		parsed, err := templates.ParseJet(source+`[[ x := Data.secret ]][[ x ]]`, templatetest.Manifest, templates.Delims{}, nil)
		require.NoError(t, err)
		all = append(all, parsed)
	}
	var hosts sync.WaitGroup
	texts := make([]map[string]int, 8)
	for n := range texts {
		hosts.Go(func() {
			texts[n] = map[string]int{}
			secret := fmt.Sprint("of host ", n)
			for i := range 300 {
				out, err := all[i%len(all)].Render(t.Context(), &templates.Env{Data: map[string]any{"filled": i%3 == 0, "secret": secret}})
				if err == nil {
					texts[n][out]++
				}
			}
		})
	}
	hosts.Wait()
	for n, got := range texts {
		require.Equal(t, map[string]int{fmt.Sprint("<>of host ", n): 250}, got)
	}
}

// TestSprigChangesCopies has templates that change maps run at the same time on
// the same facts and data.
func TestSprigChangesCopies(t *testing.T) {
	env := templatetest.Host(nil)
	tmpl, err := templates.ParseGo(`{{ $_ := set .data "name" .facts.host.info.os }}{{ $_ = unset .facts.host.info "os" }}{{ $_ = merge .data.nested (dict "new" 1) }}`+
		`{{ range .data.users }}{{ $_ = set . "name" "x" }}{{ end }}{{ $_ = set (lookup "data.nested") "port" 1 }}{{ $_ = set $ "data" 1 }}`+
		`{{ $_ = mergeOverwrite (index (lookup "data.users.#(id>1)#") 0) (dict "id" 5) }}{{ .Data.name }}{{ .Data.nested.new }}`, diag.WholeFile("x"), templates.Delims{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	outs := make([]string, 8)
	for i := range outs {
		wg.Go(func() { outs[i], _ = tmpl.Render(t.Context(), env) })
	}
	wg.Wait()
	require.Equal(t, slices.Repeat([]string{"linux1"}, 8), outs)
	require.Equal(t, templatetest.Host(nil).Facts, env.Facts)
	require.Equal(t, templatetest.Host(nil).Data, env.Data)
}

// TestGeneratedJetAtTheSameTime checks that the texts remembered for generated templates are right for hosts that are
// rendered at the same time.
func TestGeneratedJetAtTheSameTime(t *testing.T) {
	for seed := range uint64(20) {
		g := templatetest.NewGenerator(seed)
		files := templatetest.Open(t, g.Folder())
		source := g.Jet()
		var envs []*templates.Env
		for range 12 {
			envs = append(envs, g.Host(files))
		}
		parse := func() *templates.Template {
			parsed, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, files)
			require.NoError(t, err, source)
			return parsed
		}
		var want, wantErr [12]string
		for i, env := range envs {
			out, err := parse().Render(t.Context(), env)
			want[i], wantErr[i] = out, templatetest.ErrorText(err)
		}
		shared := parse()
		var hosts sync.WaitGroup
		for i, env := range envs {
			hosts.Go(func() {
				for range 3 {
					out, err := shared.Render(t.Context(), env)
					assert.Equal(t, want[i], out, "seed %d: %s", seed, source)
					assert.Equal(t, wantErr[i], templatetest.ErrorText(err), "seed %d: %s", seed, source)
				}
			})
		}
		hosts.Wait()
	}
}
