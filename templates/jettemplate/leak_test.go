package jettemplate_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// wrapped yields what it is given, fails after that if bad is set, and is executed
// once without a content.
const wrapped = `[[ block wrap(bad=false) ]]<[[ yield content ]][[ bad ? Data.missing : "" ]]>[[ end ]]`

// failing end in the block, in which they have yielded what a host has for itself.
var failing = map[string]string{
	"failed": wrapped + `[[ if Data.filled ]][[ yield wrap(bad=true) content ]][[ Data.secret ]][[ end ]][[ end ]]`,
	"caught": wrapped + `[[ if Data.filled ]][[ try ]][[ yield wrap(bad=true) content ]][[ Data.secret ]][[ end ]][[ end ]][[ end ]]`,
}

// A host whose template fails leaves nothing behind in what Jet uses again, for the
// same template or another one.
func TestNoContentOfAnotherHost(t *testing.T) {
	other, err := templates.ParseJet(wrapped, templatetest.Manifest, templates.Delims{}, nil)
	require.NoError(t, err)
	for name, source := range failing {
		t.Run(name, func(t *testing.T) {
			same, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, nil)
			require.NoError(t, err)
			for range 20 {
				for _, next := range []*templates.Template{same, other} {
					_, err := same.Render(t.Context(), &templates.Env{Data: map[string]any{"filled": true, "secret": "of host A"}})
					require.Equal(t, name == "failed", err != nil)
					out, err := next.Render(t.Context(), &templates.Env{Data: map[string]any{"filled": false, "secret": "of host B"}})
					require.NoError(t, err)
					require.Equal(t, "<>", out)
				}
			}
		})
	}
}

// Hosts that are rendered at the same time share nothing.
func TestHostsAtTheSameTime(t *testing.T) {
	var all []*templates.Template
	for _, source := range failing {
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

// An included template yields the content of the block that it is included from.
func TestContentOfIncluder(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"part.jet":   `([[ yield content ]])`,
		"layout.jet": `[[ block body() ]]none[[ end ]][[ yield content ]].`,
	})
	for source, want := range map[string]string{
		`[[ block b() ]][[ include "part.jet" ]][[ content ]]x[[ end ]][[ include "part.jet" ]]`:   "(x)()",
		`[[ extends "layout.jet" ]][[ block body() ]]<[[ yield content ]]>[[ content ]]y[[ end ]]`: "<y>.",
	} {
		parsed, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, files)
		require.NoError(t, err)
		out, err := parsed.Render(t.Context(), &templates.Env{})
		require.NoError(t, err)
		require.Equal(t, want, out)
	}
}
