package jettemplate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/jettemplate"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// pieces returns the pieces of a template.
func pieces(t *testing.T, source string) []*jettemplate.Piece {
	parsed, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, nil)
	require.NoError(t, err)
	return jettemplate.Pieces(parsed)
}

func TestWhatIsAPiece(t *testing.T) {
	for source, want := range map[string]int{
		`[[ range i := ints(0, Item) ]][[ i ]] [[ 9000 + i ]][[ end ]]`:                                                1,
		`[[ range i, u := Data.users ]][[ if i > 0 ]],[[ end ]][[ u.name | upper ]][[ end ]]`:                          1,
		`[[ range i, u := Data.users ]][[ range k, v := u ]][[ k ]]=[[ v ]][[ lookup("facts.os") ]][[ end ]][[ end ]]`: 1,
		`[[ range Data.users ]][[ .name ]][[ end ]]`:                                                                   0, // has a context
		`[[ n := 1 ]][[ range i := Data.users ]][[ n ]][[ end ]]`:                                                      0, // a variable from outside
		`[[ n := 1 ]][[ range i := Data.users ]][[ n = i ]][[ end ]]`:                                                  0, // changes one
		`[[ range i := Data.users ]][[ x := i ]][[ x ]][[ end ]]`:                                                      0,
		`[[ data := Facts ]][[ range i := data.users ]][[ i ]][[ end ]]`:                                               0, // data is not a root
		`[[ range i := Data.users ]][[ data := i ]][[ end ]][[ range i := Data.users ]][[ data.x ]][[ end ]]`:          0,
		`[[ range _, host := Data.hosts ]][[ host.name ]][[ end ]]`:                                                    1,
		`[[ range _, name := groups.web ]][[ Hosts[name].ip ]][[ end ]]`:                                               1,
		`[[ host := 1 ]][[ range i := Data.users ]][[ host.name ]][[ end ]]`:                                           0,
		`[[ host := 1 ]][[ range i := Data.users ]][[ i ]][[ end ]]`:                                                   1,
		`[[ range i := Data.users ]][[ Environ.HOME ]][[ end ]]`:                                                       0,
		`[[ range i := Data.users ]][[ jet("[[ Item ]]") ]][[ end ]]`:                                                  0,
		`[[ range i := Data.users ]][[ file("f") ]][[ end ]]`:                                                          0,
		`[[ range i := Data.users ]][[ i ]][[ else ]]none[[ end ]]`:                                                    0,
		`[[ if Data.x ]][[ range i := Data.users ]][[ i ]][[ end ]][[ end ]]`:                                          1,
		`[[ try ]][[ range i := Data.users ]][[ i ]][[ end ]][[ end ]]`:                                                0,
		`[[ block b() ]][[ range i := Data.users ]][[ i ]][[ end ]][[ end ]]`:                                          0,
	} {
		require.Len(t, pieces(t, source), want, source)
	}
}

// pieceTemplates are rendered for many hosts one after the other.
var pieceTemplates = []string{
	`[[ Facts.name ]]: [[ range i := ints(0, Data.n) ]][[ i ]]/[[ 100 + i ]] [[ end ]]`,
	`[[ range i, u := Data.users ]][[ u.name ]]=[[ isset(u.id) ? u.id : "none" ]][[ if u.name == Facts.name ]]![[ end ]][[ end ]]`,
	`[[ range i, u := Data.users ]][[ u.id ]][[ end ]]`, // fails for some
	`[[ range k, v := Data.map ]][[ k ]][[ v ]][[ Item ]][[ end ]][[ range i, u := slice(1, Data.n) ]][[ u ]][[ lookup("data." + Data.key) ]][[ end ]]`,
	`[[ range i := slice("a", "b") ]][[ range j := ints(0, 2) ]][[ i | upper ]][[ j ]][[ end ]][[ json(Data.map) ]][[ end ]]`,
	`[[ include "part.jet" ]][[ try ]][[ include "part.jet" ]][[ catch ]]failed[[ end ]][[ exec("part.jet") ]]`,
	`[[ range i, u := Data.users[0:1] ]][[ u ]][[ end ]]`, // fails: a map is not a text
}

// TestPiecesOfHosts checks that a host's text equals the text from a template that has never rendered another host.
func TestPiecesOfHosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pick := func() any { return int64(rng.IntN(3) + 1) }
	files := templatetest.Open(t, map[string]string{"part.jet": `[[ range i := ints(0, Data.n) ]][[ i ]][[ Item ]][[ end ]]`})
	shared := make([]*templates.Template, len(pieceTemplates))
	parse := func(i int) *templates.Template {
		parsed, err := templates.ParseJet(pieceTemplates[i], templatetest.Manifest, templates.Delims{}, files)
		require.NoError(t, err)
		return parsed
	}
	for i := range shared {
		shared[i] = parse(i)
	}
	worked, failed := 0, 0
	for range 300 {
		user := map[string]any{"name": fmt.Sprint("web", pick())}
		if rng.IntN(4) > 0 {
			user["id"] = pick()
		}
		env := &templates.Env{
			Facts: map[string]any{"name": fmt.Sprint("web", pick())},
			Data: map[string]any{"n": pick(), "users": []any{user, map[string]any{"name": "x", "id": pick()}},
				"map": map[string]any{"a": pick(), "b": pick()}, "key": []any{"n", "other"}[rng.IntN(2)], "other": pick()},
			Item: pick(), HasItem: rng.IntN(5) > 0, Files: files,
		}
		for i, one := range shared {
			want, wantErr := parse(i).Render(t.Context(), env)
			got, err := one.Render(t.Context(), env)
			require.Equal(t, wantErr, err, pieceTemplates[i])
			require.Equal(t, want, got, pieceTemplates[i])
			if err == nil {
				worked++
			} else {
				failed++
			}
		}
	}
	require.Greater(t, worked, 1000)
	require.Greater(t, failed, 200)
	used := jettemplate.Pieces(shared[0])
	require.NotEmpty(t, used)
	for i, p := range used {
		require.Greater(t, p.Again(), 200, i)
	}
}

// TestPiecesAreBounded checks that the remembered texts are limited, and given up if no two hosts are alike.
func TestPiecesAreBounded(t *testing.T) {
	source := `[[ range i, v := Data.list ]][[ v ]][[ end ]]`
	parsed, err := templates.ParseJet(source, templatetest.Manifest, templates.Delims{}, nil)
	require.NoError(t, err)
	p := jettemplate.Pieces(parsed)[0]
	for i := range 400 {
		text := strings.Repeat(fmt.Sprint(i), 10_000)
		out, err := parsed.Render(t.Context(), &templates.Env{Data: map[string]any{"list": []any{text}}})
		require.NoError(t, err)
		require.True(t, text == out, i)
		require.LessOrEqual(t, p.Size(), jettemplate.MaxPiece)
	}
	require.Equal(t, jettemplate.PieceTrial, p.Made())
	require.Zero(t, p.Texts())
}

// TestPiecesOfHostsWithoutTheValue checks that a host for which rendering fails never receives another host's text.
func TestPiecesOfHostsWithoutTheValue(t *testing.T) {
	parsed, err := templates.ParseJet(`[[ range i, v := Facts.a.b ]][[ v ]][[ end ]]`, templatetest.Manifest, templates.Delims{}, nil)
	require.NoError(t, err)
	list := []any{"x", "y"}
	out, err := parsed.Render(t.Context(), &templates.Env{Facts: map[string]any{"a": map[string]any{"b": list}}})
	require.NoError(t, err)
	require.Equal(t, "xy", out)
	_, err = parsed.Render(t.Context(), &templates.Env{Facts: map[string]any{"a": list}})
	require.ErrorContains(t, err, `site.yaml:7:29: Facts.a.b: the index of a list must be an integer, not a string`)
}
