package starter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/starter"
)

// checkout returns a folder with the files that identify a checkout of the sources, and the page.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "docs/internals/adding-a-type.md"} {
		text, err := os.ReadFile(filepath.Join("../../..", name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

// TestType compiles a type as it is written, in the place where it belongs, and runs its test.
func TestType(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	paths, err := starter.Type(filepath.Join(dir, "docs"), "greeting")
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "modules/greeting/greeting.go"), filepath.Join(dir, "modules/greeting/greeting_test.go")}, paths)
	real, err := filepath.Abs("../../..")
	require.NoError(t, err)
	replace := map[string]string{}
	for _, path := range paths {
		below, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		replace[filepath.Join(real, below)] = path
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "greeting.test")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, "github.com/ccm-push/ccm-push/modules/greeting").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, "-test.v").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS: TestConverges/a_file_too_many/twice")

	_, err = starter.Type(dir, "greeting")
	require.EqualError(t, err, filepath.Join(dir, "modules/greeting")+" is there already; nothing was written")
}

func TestTypeRefuses(t *testing.T) {
	dir := checkout(t)
	for name, want := range map[string]string{
		"Sysctl":    `type "Sysctl": small letters and digits, since a Go package is called that too`,
		"../escape": `type "../escape": small letters and digits, since a Go package is called that too`,
		"func":      `type "func": small letters and digits, since a Go package is called that too`,
		"":          `type "": small letters and digits, since a Go package is called that too`,
	} {
		_, err := starter.Type(dir, name)
		require.EqualError(t, err, want)
	}
	require.NoDirExists(t, filepath.Join(dir, "modules"))
	_, err := starter.Type(t.TempDir(), "greeting")
	require.EqualError(t, err, "run new type in a checkout of the sources of ccm-push")
}
