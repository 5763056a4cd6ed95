package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSourceLineOfSecrets checks that no line with a secret is shown, nor its continuation lines.
func TestSourceLineOfSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	text := "a: 1\nb:\n  c: !secret |\n    hunter2\n\n    hunter3\n  d: 2\ne: !secret {x: y,\n  z: hunter4}\nf: 3\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	shown := map[string]bool{}
	for n := range 11 {
		if line, ok := lineOf(path, n+1); ok {
			shown[line] = true
		}
	}
	require.Equal(t, map[string]bool{"a: 1": true, "b:": true, "  d: 2": true, "f: 3": true}, shown)
}
