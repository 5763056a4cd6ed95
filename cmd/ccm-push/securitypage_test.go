package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesNameTests checks that the tests that docs/internals names exist.
func TestPagesNameTests(t *testing.T) {
	pages, err := filepath.Glob("../../docs/internals/*.md")
	require.NoError(t, err)
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `^func (Test|Fuzz)\w+\(`, "../..").Output()
	require.NoError(t, err)
	named := 0
	for _, path := range pages {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllSubmatch(page, -1) {
			named++
			require.Contains(t, string(out), "func "+string(name[1])+"(", "%s names %s", path, name[1])
		}
	}
	require.Greater(t, named, 150)
}
