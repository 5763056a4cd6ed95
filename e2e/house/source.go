package house

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Package is a folder of Go files, without tests and without generated files.
type Package struct {
	Folder string // below the root of the project, with slashes
	Files  map[string]*ast.File
}

// A House is all packages of the project, by folder.
type House struct {
	*token.FileSet
	Packages map[string]*Package
}

// onLinux selects the files of the full host program and the controller on Linux. Their counterparts for other systems do not count.
var onLinux = build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc", BuildTags: []string{"full"}}

// load parses the Go files below root that Linux builds, except tests, testdata and programs that only tests build.
func load(root string) (*House, error) {
	h := &House{token.NewFileSet(), map[string]*Package{}}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if file != root && (name == "testdata" || name == "bin" || name == "e2e" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if built, err := onLinux.MatchFile(path.Split(file)); err != nil || !built {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(h.FileSet, filepath.ToSlash(inside), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(parsed) {
			return nil
		}
		folder := path.Dir(filepath.ToSlash(inside))
		if h.Packages[folder] == nil {
			h.Packages[folder] = &Package{folder, map[string]*ast.File{}}
		}
		h.Packages[folder].Files[name] = parsed
		return nil
	})
	return h, err
}

// Functions yields the functions and methods of a package.
func (p *Package) Functions(yield func(*ast.FuncDecl) bool) {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !yield(f) {
				return
			}
		}
	}
}

// Structs yields the names and fields of the struct types that a package declares.
func (p *Package) Structs(yield func(string, *ast.StructType) bool) {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if s, ok := t.Type.(*ast.StructType); ok && !yield(t.Name.Name, s) {
					return
				}
			}
		}
	}
}

// typeName returns the name of a type of the same package, without a pointer and without type parameters, or "".
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}

// methods counts the methods of each type of a package. Above ten, functions whose first parameter is the type count, too.
func (p *Package) methods() map[string]int {
	count, helped := map[string]int{}, map[string]int{}
	for f := range p.Functions {
		switch {
		case f.Recv != nil:
			count[typeName(f.Recv.List[0].Type)]++
		case len(f.Type.Params.List) > 0:
			helped[typeName(f.Type.Params.List[0].Type)]++
		}
	}
	for name, n := range count {
		if n > 10 {
			count[name] = n + helped[name]
		}
	}
	return count
}

// fields counts the fields of each struct of a package, including the fields of embedded structs of the same package.
func (p *Package) fields() map[string]int {
	structs := map[string]*ast.StructType{}
	for name, s := range p.Structs {
		structs[name] = s
	}
	var count func(s *ast.StructType) int
	count = func(s *ast.StructType) (n int) {
		for _, f := range s.Fields.List {
			n += max(1, len(f.Names))
			if inner := structs[typeName(f.Type)]; len(f.Names) == 0 && inner != nil {
				n += count(inner) - 1
			}
		}
		return n
	}
	all := map[string]int{}
	for name, s := range structs {
		all[name] = count(s)
	}
	return all
}

// lines returns how many lines the body of a function has.
func (h *House) lines(f *ast.FuncDecl) int {
	if f.Body == nil {
		return 0
	}
	return h.Position(f.Body.Rbrace).Line - h.Position(f.Body.Lbrace).Line - 1
}

// isTable reports whether a function only returns, or fills in, a composite literal.
func isTable(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) == 0 || len(f.Body.List) > 3 {
		return false
	}
	literal := false
	for _, statement := range f.Body.List {
		switch s := statement.(type) {
		case *ast.ReturnStmt:
			literal = literal || len(s.Results) == 1 && isLiteral(s.Results[0])
		case *ast.AssignStmt:
			literal = literal || len(s.Rhs) == 1 && isLiteral(s.Rhs[0])
		default:
			return false
		}
	}
	return literal
}

func isLiteral(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = u.X
	}
	_, ok := e.(*ast.CompositeLit)
	return ok
}

// funcName returns the name of a function, with the type of its receiver before it.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return typeName(f.Recv.List[0].Type) + "." + f.Name.Name
}
