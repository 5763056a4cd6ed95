package builtin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentedType compiles the type in docs/internals/adding-a-type.md, and runs its test. It passes the files to
// the go command as an overlay, so that none is written to the tree.
func TestDocumentedType(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/adding-a-type.md")
	require.NoError(t, err)
	block := func(beginning string) string {
		found := regexp.MustCompile("(?ms)^```go\n(" + beginning + ".*?)^```$").FindSubmatch(page)
		require.NotNil(t, found, "the page has no block that begins with %s", beginning)
		path := filepath.Join(t.TempDir(), "block.go")
		require.NoError(t, os.WriteFile(path, found[1], 0o600))
		return path
	}
	folder, err := filepath.Abs("../tidy")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(folder, "tidy.go"):      block("// Package tidy"),
		filepath.Join(folder, "tidy_test.go"): block("package tidy_test"),
	}})
	require.NoError(t, err)
	replaced := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(replaced, overlay, 0o600))
	program := filepath.Join(t.TempDir(), "tidy.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", replaced, "-o", program, "github.com/ccm-push/ccm-push/modules/tidy").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program, "-test.v").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS: TestConverges/a_file_too_many/twice")
	require.Contains(t, string(out), "PASS: TestConverges/a_file_too_many/watched")
}
