package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNote checks the noted paths: the files of an inventory, and the folders in which more files may appear.
func TestNote(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"hosts.yaml":             "web: {hosts: {web1: }}\n",
		"group_vars/web/a.yaml":  "a: 1\n",
		"group_vars/web/.x":      "",
		"more/db.yaml":           "db: {hosts: {db1: }}\n",
		"more/host_vars/db1.yml": "b: 1\n",
		"more/readme.md":         "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var noted []string
	_, err := Load(t.Context(), []string{"hosts.yaml", "more"}, Options{Note: func(path string) { noted = append(noted, path) }})
	require.NoError(t, err)
	slices.Sort(noted)
	require.Equal(t, []string{
		"group_vars", "group_vars/web", "group_vars/web/a.yaml", "host_vars", "hosts.yaml",
		"more", "more/db.yaml", "more/group_vars", "more/host_vars", "more/host_vars/db1.yml",
	}, slices.Compact(noted))
}
