package load

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

// TestNote checks that every file that plays are read from is noted, also a missing one.
func TestNote(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"site.yaml":            "- include: inner.yaml\n- include: gone.yaml\n- vars_files: [../vars.yaml]\n  ccm: {resources: [apply: [nested: ]]}\n",
		"inner.yaml":           "vars_files: [vars/inner.yaml]\n" + some,
		"vars/inner.yaml":      "a: 1\n",
		"nested/manifest.yaml": some,
		"rollout.yaml":         "batches: 1\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var noted []string
	_, err := Files(t.Context(), []string{"site.yaml", "none.tar.gz", "https://example.invalid/x.tar.gz"}, builtin.Types(), WithRollout("rollout.yaml"), WithNote(func(path string) { noted = append(noted, path) }))
	require.Error(t, err)
	slices.Sort(noted)
	require.Equal(t, []string{"../vars.yaml", "gone.yaml", "inner.yaml", "nested/manifest.yaml", "none.tar.gz", "rollout.yaml", "site.yaml", "vars/inner.yaml"}, noted)
}

// TestNoteOfADocument names what a DSC document includes.
func TestNoteOfADocument(t *testing.T) {
	t.Chdir(t.TempDir())
	const schema = "$schema: https://aka.ms/dsc/schemas/v3/bundled/config/document.json\n"
	for name, text := range map[string]string{
		"site.yaml":       schema + "resources: [{name: other, type: Microsoft.DSC/Include, properties: {configurationFile: sub/other.yaml}}]\n",
		"sub/other.yaml":  schema + "resources: [{name: x, type: Ccm/exec, properties: {command: \"true\"}}]\n",
		"parameters.yaml": "parameters: {}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var noted []string
	_, err := Files(t.Context(), []string{"site.yaml"}, builtin.Types(), WithParameters("parameters.yaml"), WithNote(func(path string) { noted = append(noted, path) }))
	require.NoError(t, err)
	require.Equal(t, []string{"site.yaml", "parameters.yaml", "sub/other.yaml"}, noted)
}
