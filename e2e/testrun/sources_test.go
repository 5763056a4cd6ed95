package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/ccm-push/ccm-push"

// A source is a file of the project.
type source struct {
	*ast.File
	set  *token.FileSet
	name string // from the root of the project
	pkg  string // its import path; that of an external test package ends with _test
}

// sources parses all files of the project.
func sources(t *testing.T) (list []source) {
	t.Helper()
	const root = "../.."
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		s := source{set: token.NewFileSet()}
		if s.name, err = filepath.Rel(root, path); err != nil {
			return err
		}
		s.pkg = module + "/" + filepath.ToSlash(filepath.Dir(s.name))
		if s.File, err = parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution); err != nil {
			return err
		}
		if strings.HasSuffix(s.Name.Name, "_test") {
			s.pkg += "_test"
		}
		list = append(list, s)
		return nil
	}))
	return list
}

// imports maps the names of the packages that a file imports to their paths.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.Imports {
		full, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(full)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = full
	}
	return names
}

// calls are the functions that a part of a file mentions: "PATH.NAME", and "PATH..NAME" for a method of the same package.
func (s source) calls(part ast.Node) (names []string) {
	imports := s.imports()
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				names = append(names, imports[x.Name]+"."+n.Sel.Name)
				return false
			}
			names = append(names, s.pkg+".."+n.Sel.Name, strings.TrimSuffix(s.pkg, "_test")+".."+n.Sel.Name)
		case *ast.Ident:
			names = append(names, s.pkg+"."+n.Name)
		}
		return true
	})
	return names
}

// unfuzzed are parsers that need no fuzz target of their own, and why.
var unfuzzed = map[string]string{
	"e2e/outcomes.ReadLog":       "reads what commands of the tests wrote",
	"inventory/source.ReadAll":   "returns bytes as they are",
	"modules/edit.ReadBefore":    "compares names of files",
	"modules/process.ReadAtMost": "returns bytes as they are",
	"modules/process.ReadFile":   "returns bytes as they are",
	"modules/process.ReadText":   "returns bytes as they are",
}

var parserName = regexp.MustCompile(`^(Parse|Read|Decode|Unmarshal|Load|Scan)([A-Z]|$)`)

// isText reports whether a parameter has the type []byte, string or io.Reader.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "string"
	case *ast.ArrayType:
		of, ok := e.Elt.(*ast.Ident)
		return ok && e.Len == nil && of.Name == "byte"
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == "io" && e.Sel.Name == "Reader"
	}
	return false
}

// TestParsersAreFuzzed finds exported functions that read bytes or text, and that no fuzz target reaches.
func TestParsersAreFuzzed(t *testing.T) {
	calls := map[string][]string{}
	parsers := map[string]string{} // their places
	var reached []string
	for _, s := range sources(t) {
		for _, decl := range s.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			name := s.pkg + "." + f.Name.Name
			if f.Recv != nil {
				name = s.pkg + ".." + f.Name.Name
			}
			calls[name] = append(calls[name], s.calls(f.Body)...)
			if strings.HasPrefix(f.Name.Name, "Fuzz") && strings.HasSuffix(s.name, "_test.go") {
				reached = append(reached, name)
			}
			ofTests := strings.HasSuffix(s.name, "_test.go") || strings.HasSuffix(s.Name.Name, "test")
			if f.Recv == nil && !ofTests && !strings.HasPrefix(f.Name.Name, "ReadOnly") && parserName.MatchString(f.Name.Name) &&
				slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool { return isText(p.Type) }) {
				parsers[strings.TrimPrefix(name, module+"/")] = s.set.Position(f.Pos()).String()
			}
		}
	}
	seen := map[string]bool{}
	for len(reached) > 0 {
		name := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		if !seen[name] {
			seen[name] = true
			reached = append(reached, calls[name]...)
		}
	}
	require.NotEmpty(t, parsers)
	for name := range unfuzzed {
		require.Contains(t, parsers, name, "unfuzzed has a function that is gone")
		require.False(t, seen[module+"/"+name], "%s is fuzzed: remove it from unfuzzed", name)
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(parsers)) {
		if !seen[module+"/"+name] && unfuzzed[name] == "" {
			missing = append(missing, name+" "+parsers[name])
		}
	}
	require.Empty(t, missing, "write a fuzz target that calls it, or say in unfuzzed why it needs none")
}
