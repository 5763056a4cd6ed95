package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecurityPageNamesTests looks whether each test that docs/SECURITY.md names exists.
func TestSecurityPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/SECURITY.md")
	require.NoError(t, err)
	names := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllSubmatch(page, -1)
	require.Greater(t, len(names), 40)
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `^func (Test|Fuzz)\w+\(`, "../..").Output()
	require.NoError(t, err)
	for _, name := range names {
		require.Contains(t, string(out), "func "+string(name[1])+"(", "docs/SECURITY.md names %s", name[1])
	}
}
