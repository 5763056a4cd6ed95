package jinja

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsed checks that the filters, tests and lookups in three or more of the counted public repositories exist, or are
// omitted with a reason. testdata/used.json has the numbers of repositories.
func TestUsed(t *testing.T) {
	fillTables()
	text, err := os.ReadFile("testdata/used.json")
	require.NoError(t, err)
	var used struct{ Filters, Tests, Lookups map[string]int }
	require.NoError(t, json.Unmarshal(text, &used))
	// Words after "is" in texts that are not expressions.
	prose := words("installed used present already valid running absent set started")
	for name := range used.Filters {
		require.True(t, filterNamed(name) != nil || omitted[name] != "", name)
	}
	for name := range used.Tests {
		require.True(t, testNamed(name) != nil || prose[name], name)
	}
	for name := range used.Lookups {
		require.True(t, lookups[name] != nil || omitted[name] != "", name)
	}
}

// TestListed checks that ccm-push help functions lists all names.
func TestListed(t *testing.T) {
	fillTables()
	text, err := os.ReadFile("../../cmd/ccm-push/topics/functions.txt")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "Jinja templates")
	require.True(t, found)
	listed := words(strings.ReplaceAll(section, ",", " "))
	check := func(name string) {
		if strings.Trim(name, "=!<>") != "" {
			require.True(t, listed[name], name)
		}
	}
	for name := range filters {
		check(name)
	}
	for name := range tests {
		check(name)
	}
	for name := range lookups {
		check(name)
	}
	for name := range globals {
		check(name)
	}
}
