package jettemplate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// TestNoContentOfAnotherHost checks that a failed template of one host leaves nothing in the objects that Jet reuses,
// for the same template or another one.
func TestNoContentOfAnotherHost(t *testing.T) {
	other, err := templates.ParseJet(templatetest.WrappedJet, templatetest.Manifest, templates.Delims{}, nil)
	require.NoError(t, err)
	for name, source := range templatetest.FailingJet() {
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
