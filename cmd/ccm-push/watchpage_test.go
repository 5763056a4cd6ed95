package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWatchPageNamesTests looks whether each row of the table of mgmt's features in docs/watch.md names
// tests, and whether they exist.
func TestWatchPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/watch.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| mgmt | here | test |\n|---|---|---|\n")
	require.True(t, found)
	out, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `^func Test\w+\(`, "../..").Output()
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(table, -1)
	require.Greater(t, len(rows), 15)
	for _, row := range rows {
		names := regexp.MustCompile("`(Test[A-Z]\\w*)`").FindAllStringSubmatch(row, -1)
		require.NotEmpty(t, names, row)
		for _, name := range names {
			require.Contains(t, string(out), "func "+name[1]+"(", "docs/watch.md names it")
		}
	}
}
