package main

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMakeRootRunsTestsOfRoot requires that `make root` selects each test that an ordinary user skips. It selects tests by the words in
// their text: a test that calls a function that skips, or a function that calls such a function, must have one of the words.
func TestMakeRootRunsTestsOfRoot(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?s)ROOT_TESTS.*?name && /(.*?)/\{`).FindSubmatch(makefile)
	require.NotNil(t, found)
	selected := regexp.MustCompile(string(found[1]))

	type function struct {
		source
		*ast.FuncDecl
		text string
	}
	var all []function
	for _, s := range sources(t) {
		top, _, _ := strings.Cut(s.name, "/")
		isTest := strings.HasSuffix(s.name, "_test.go") || strings.HasSuffix(path.Dir(s.name), "test")
		if !isTest || top == "e2e" || slices.Contains([]string{"modules/user", "modules/group"}, path.Dir(s.name)) { // e2e runs the tests of these two
			continue
		}
		text, err := os.ReadFile("../../" + s.name)
		require.NoError(t, err)
		for _, d := range s.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				all = append(all, function{s, f, string(text[s.set.Position(f.Pos()).Offset:s.set.Position(f.End()).Offset])})
			}
		}
	}
	skips := map[string]bool{} // names as in calls
	reaches := func(f function) bool {
		return slices.ContainsFunc(f.calls(f.Body), func(name string) bool { return skips[name] })
	}
	skipsItself := regexp.MustCompile(`needs\.Root\(|Gete?uid\(\) != 0 \{\s*\w+\.Skip`)
	for grown := true; grown; {
		grown = false
		for _, f := range all {
			name := f.pkg + "." + f.Name.Name
			if f.Recv == nil && !strings.HasPrefix(f.Name.Name, "Test") && !skips[name] && (skipsItself.MatchString(f.text) || reaches(f)) {
				skips[name], grown = true, true
			}
		}
	}
	require.NotEmpty(t, skips)
	var missed []string
	for _, f := range all {
		if strings.HasPrefix(f.Name.Name, "Test") && reaches(f) && !selected.MatchString(f.text) {
			missed = append(missed, path.Dir(f.name)+" "+f.Name.Name)
		}
	}
	require.Empty(t, missed, "make root does not run these tests: ROOT_TESTS in the Makefile must have the name of the function with which they skip")
}
