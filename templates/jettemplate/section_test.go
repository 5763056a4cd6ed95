package jettemplate_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/jettemplate"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func TestWhatHasSections(t *testing.T) {
	files := templatetest.Open(t, map[string]string{"part.jet": "part"})
	for source, want := range map[string]int{
		"":                             0,
		"plain text":                   1,
		"# [[ Item ]], [[ Data.x ]]\n": 1, // the same for all hosts
		"# [[ Item ]] of [[ Facts.name ]]: [[ Data.x ]]\n":                       3,
		`[[ lookup("facts.name") ]][[ Host.name ]]`:                              2,
		`a[[ Facts.name ]]b`:                                                     3,
		`[[ Item ]][[ range i := ints(0, Item) ]][[ i ]][[ end ]][[ Data.x ]]`:   1,
		`[[ Item ]][[ if Facts.os == "debian" ]]apt[[ end ]][[ Data.x ]]`:        3,
		`[[ upper(Facts.name) ]][[ Environ.HOME ]]`:                              2,
		`[[ x := Facts.name ]][[ x ]]`:                                           -1,
		`[[ include "part.jet" ]]`:                                               -1,
		`[[ block b() ]][[ end ]]`:                                               -1,
		`[[ try ]][[ Item ]][[ end ]]`:                                           -1,
		`[[ file("part.jet") ]]`:                                                 -1,
		"[[ template(`{{ now() }}`) ]]":                                          -1,
		`[[ extends "part.jet" ]]text of a template that extends is not written`: -1,
		`[[ import "part.jet" ]]`:                                                -1,
		`[[ range Data.users ]][[ .name ]][[ end ]]`:                             -1,
		`[[ return 1 ]]`:                                                         -1,
	} {
		parsed, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, files)
		require.NoError(t, err, source)
		require.Equal(t, want, jettemplate.Sections(parsed), source)
	}
}

// Whatever a template consists of: each host gets the bytes, or the error, that it gets from one with a return
// in it, of which nothing is remembered and every statement is executed by Jet.
func TestSectionsOfGeneratedTemplates(t *testing.T) {
	templateCount, hosts := 150, 30
	if os.Getenv("LONG") != "" {
		templateCount *= 20
	}
	worked, failed, withSections := 0, 0, 0
	for seed := range uint64(templateCount) {
		g := templatetest.NewGenerator(seed)
		files := templatetest.Open(t, g.Folder())
		source := g.Jet()
		parsed, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, files)
		require.NoError(t, err, "seed %d: %s", seed, source)
		plain, err := templates.ParseJet(source+"[[ if false ]][[ return 1 ]][[ end ]]", templatetest.Manifest, templates.Delims{}, files)
		require.NoError(t, err)
		require.Empty(t, jettemplate.Pieces(plain))
		if jettemplate.Sections(parsed) > 0 {
			withSections++
		}
		for range hosts {
			env := g.Host(files)
			want, wantErr := plain.Render(t.Context(), env)
			got, err := parsed.Render(t.Context(), env) // most often after another host
			require.Equal(t, wantErr, err, "seed %d: %s", seed, source)
			require.Equal(t, want, got, "seed %d: %s", seed, source)
			if err == nil {
				worked++
			} else {
				failed++
			}
		}
	}
	t.Log(worked, failed, withSections)
	require.Greater(t, worked, templateCount*hosts/4)
	require.Greater(t, failed, templateCount*hosts/10)
	require.Greater(t, withSections, templateCount/5)
}

// TestSectionsAreNotOfAClock checks that a text that depends on the clock is not remembered, whatever surrounds it.
func TestSectionsAreNotOfAClock(t *testing.T) {
	parsed, err := templates.ParseJet("[[ Item ]][[ range i := ints(0, 3) ]][[ i ]][[ end ]][[ template(`{{ now().UnixNano() }}`) ]][[ Data.x ]]", templatetest.Manifest, templates.Delims{}, nil)
	require.NoError(t, err)
	env := &templates.Env{Item: "i", HasItem: true, Data: map[string]any{"x": "end"}}
	first, err := parsed.Render(t.Context(), env)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		again, err := parsed.Render(t.Context(), env)
		return err == nil && again != first
	}, time.Minute, time.Millisecond)
}
