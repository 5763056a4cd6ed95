package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartCompilesNothing checks that no regular expressions and templates are compiled at each start, since people
// notice that time at each call. They are compiled at their first use (sync.OnceValue).
func TestStartCompilesNothing(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"cmd", "facts", "inventory", "modules", "playbooks", "templates", "transport"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
					ast.Inspect(decl, func(n ast.Node) bool {
						if f, ok := n.(*ast.SelectorExpr); ok {
							if pkg, ok := f.X.(*ast.Ident); ok {
								call := pkg.Name + "." + f.Sel.Name
								if call == "regexp.MustCompile" || call == "template.Must" {
									t.Errorf("%s: %s runs at each start", files.Position(n.Pos()), call)
								}
							}
						}
						_, later := n.(*ast.FuncLit)
						return !later
					})
				}
			}
			return nil
		}))
	}
}
