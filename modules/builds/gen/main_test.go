package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

func TestGeneratorMakesWhatIsMissing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bin")
	own := compile.Own().String()
	generate := func(id string) (log string) {
		var b bytes.Buffer
		g := generator{out: out, pkg: "../compile/testdata/hello", id: id, log: &b, haste: true}
		require.NoError(t, g.run(t.Context(), []string{own}))
		return b.String()
	}

	require.Contains(t, generate(""), "gen: "+own)
	require.Empty(t, generate(""), "up to date")
	list, err := builds.Load(out)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.False(t, list[0].Full)
	require.True(t, list[1].Full)
	require.Equal(t, list[0].ID, list[1].ID, "one id for both")
	require.NotEqual(t, list[0].SHA256, list[1].SHA256)
	for _, b := range list {
		_, err = b.Program()
		require.NoError(t, err)
	}

	require.Contains(t, generate("other"), "gen: "+own+" other", "another id")
	require.NoError(t, os.Remove(filepath.Join(out, "ccm-module_"+list[0].OS+"_"+list[0].Arch+".gz")))
	require.Contains(t, generate("other"), "gen: "+own, "a missing file")
	require.NoError(t, os.Remove(filepath.Join(out, "ccm-module-full_"+list[0].OS+"_"+list[0].Arch+".gz")))
	log := generate("other")
	require.Contains(t, log, "gen: "+own+" (full) other")
	require.NotContains(t, log, "gen: "+own+" other")
	require.NoError(t, os.WriteFile(filepath.Join(out, builds.IndexFile), []byte("{"), 0o644))
	require.Contains(t, generate("other"), "gen: index.json: unexpected EOF; building everything again\n")
}

func TestGeneratorErrors(t *testing.T) {
	g := generator{out: t.TempDir(), pkg: "./absent", log: &bytes.Buffer{}}
	require.EqualError(t, g.run(t.Context(), []string{"linux"}), `target "linux" is not of the form linux/amd64`)
	require.ErrorContains(t, g.run(t.Context(), []string{"linux/amd64"}), "go list for linux/amd64: exit status 1\n")
}
