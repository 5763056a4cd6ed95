package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// TestNote names the files of a play that its catalogs are made of, each once.
func TestNote(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"site.yaml": `ccm:
  resources:
    - file:
        - /a: {content: "{{ template('a.templ') }}", owner: root, group: root, mode: "0644"}
        - /b: {source: "{{ Data.source ?? 'files/b' }}", owner: root, group: root, mode: "0644"}
    - scaffold: [/s: {source: scaffold, engine: go}]
`,
		"a.templ": "a", "files/b": "b", "scaffold/x": "x", "scaffold/sub/y": "{{ .Facts.x }}", "unread": "",
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	plays, err := load.Files(t.Context(), []string{filepath.Join(folder, "site.yaml")}, builtin.Types())
	require.NoError(t, err)
	var mu sync.Mutex
	noted := map[string]bool{}
	c, err := New(plays[0], Options{EnvFile: true, Note: func(path string) {
		mu.Lock()
		defer mu.Unlock()
		noted[path] = true
	}})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{"x": "y"}})
	require.NoError(t, err)
	var names []string
	for path := range noted {
		name, err := filepath.Rel(folder, path)
		require.NoError(t, err)
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{".env", "a.templ", "files/b", "scaffold", "scaffold/sub", "scaffold/sub/y", "scaffold/x"}, names)
}
