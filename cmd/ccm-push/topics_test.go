package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
)

// TestEnvironmentTopic finds the environment variables that the sources read, and checks that help describes each.
func TestEnvironmentTopic(t *testing.T) {
	t.Parallel()
	text, err := topicTexts.ReadFile("topics/environment.txt")
	require.NoError(t, err)
	read := readVariables(t, "../..", "../../e2e", "../../modules/modtest", "../../modules/accounts/accountstest", "../../transport/sshtest")
	require.Contains(t, read, "CCM_PUSH_INVENTORY") // by a literal
	require.Contains(t, read, "CCM_HIERA_DATA")     // by a constant
	require.Contains(t, read, "PATH")               // by an index
	require.Contains(t, read, "OTEL_EXPORTER_OTLP_ENDPOINT")
	for _, name := range read {
		require.Regexp(t, `\b`+name+`\b`, string(text), "topics/environment.txt does not tell of it")
	}
}

var (
	variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	// Names that nothing else is called.
	variableFamily = regexp.MustCompile(`^(CCM|DSC|OTEL|XDG)_[A-Z_]+$`)
)

// readVariables lists the variables that the Go files below a folder read: arguments of functions named Getenv or
// LookupEnv, indexes of variables named environ, and names in the form of a variable family.
func readVariables(t *testing.T, root string, leaveOut ...string) []string {
	t.Helper()
	constants, mentioned := map[string]string{}, map[string]bool{}
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || slices.Contains(leaveOut, path)):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit: // handed to what reads it
				if text, ok := literal(n); ok && variableFamily.MatchString(text) {
					mentioned[text] = true
				}
			case *ast.ValueSpec:
				for i, value := range n.Values {
					if text, ok := literal(value); ok && i < len(n.Names) {
						constants[n.Names[i].Name] = text
					}
				}
			case *ast.CallExpr:
				if function := strings.ToLower(lastName(n.Fun)); (function == "getenv" || function == "lookupenv") && len(n.Args) == 1 {
					mention(mentioned, n.Args[0])
				}
			case *ast.IndexExpr:
				if lastName(n.X) == "environ" {
					mention(mentioned, n.Index)
				}
			}
			return true
		})
		return nil
	}))
	var names []string
	for name := range mentioned {
		if value, isConstant := constants[name]; isConstant {
			name = value
		}
		if variableName.MatchString(name) { // and no parameter, which may be any
			names = append(names, name)
		}
	}
	return names
}

func mention(names map[string]bool, e ast.Expr) {
	if text, ok := literal(e); ok {
		names[text] = true
	} else {
		names[lastName(e)] = true
	}
}

// lastName returns the last name of an identifier or a selector.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// TestTopics holds what help prints to the width of a terminal.
func TestTopics(t *testing.T) {
	list := topicCommands()
	require.Greater(t, len(list), 4)
	for _, topic := range list {
		require.NotEmpty(t, topic.Short)
		require.False(t, topic.Runnable())
		for line := range strings.Lines(topic.Long) {
			require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 90, "%s: %s", topic.Name(), line)
		}
	}
}

// TestHelpFits checks that help describes flags in lines that fit the terminal, and in whole lines without a terminal.
func TestHelpFits(t *testing.T) {
	root := newCommandLine(app.New(nil, new(bytes.Buffer), new(bytes.Buffer), nil)).root()
	longest := func(columns int) int {
		root.SetUsageTemplate(usageTemplate(root, columns))
		usage := root.UsageString()
		_, flags, found := strings.Cut(usage, "\nFlags:\n")
		require.True(t, found)
		longest := 0
		for line := range strings.Lines(flags) {
			longest = max(longest, len(strings.TrimSuffix(line, "\n")))
		}
		return longest
	}
	require.LessOrEqual(t, longest(100), 100)
	require.Greater(t, longest(0), 200)
}
