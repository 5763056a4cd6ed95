package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// directive matches comments that are written for programs.
var directive = regexp.MustCompile(`^//(go:|nolint|line |export |[a-z]+:[a-z])`)

// program matches literals that are scripts, queries or data.
var program = regexp.MustCompile(`^#!|; then\b|\$\(|\bfi\n|\bdone\n|^\s*[{[<]|^<\?xml`)

// source returns the texts of a Go file: comments; and if it is not a test, literals and the documentation of fields.
func source(file string, content []byte) ([]text, error) {
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	line := func(n ast.Node) int { return positions.Position(n.Pos()).Line }
	var list []text
	documents := docComments(tree)
	for _, group := range tree.Comments {
		if words := commentText(group); words != "" {
			at := text{kind: comments, file: file, line: line(group), doc: documents[group]}
			list = append(list, paragraphs(at, words)...)
		}
	}
	if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(path.Base(path.Dir(file)), "test") {
		return list, nil
	}
	message := func(n ast.Node, words string) {
		if !program.MatchString(words) {
			list = append(list, paragraphs(text{kind: messages, file: file, line: line(n)}, words)...)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value) // the parser has accepted it
				message(n, reflect.StructTag(tag).Get("doc"))
			}
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Example" { // commands, which tests run
				return false
			}
		case *ast.BasicLit, *ast.BinaryExpr:
			words, ok := literal(n.(ast.Expr))
			if ok {
				message(n, words)
			}
			return !ok
		}
		return true
	})
	return list, nil
}

// docComments returns the comments that document declarations and fields.
func docComments(tree *ast.File) map[*ast.CommentGroup]bool {
	documents := map[*ast.CommentGroup]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			documents[n.Doc] = true
		case *ast.GenDecl:
			documents[n.Doc] = true
		case *ast.TypeSpec:
			documents[n.Doc], documents[n.Comment] = true, true
		case *ast.ValueSpec:
			documents[n.Doc], documents[n.Comment] = true, true
		case *ast.Field:
			documents[n.Doc], documents[n.Comment] = true, true
		}
		return true
	})
	return documents
}

// commentText returns a comment without its marks, directives and code.
func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, c := range group.List {
		if directive.MatchString(c.Text) {
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(c.Text, "//"), "/*"), "*/")
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") && len(lines) > 0 && lines[len(lines)-1] == "" {
				line = "" // code
			}
			line = strings.TrimPrefix(line, " ")
			if strings.HasPrefix(strings.TrimSpace(line), "- ") { // an item is a paragraph
				lines = append(lines, "")
			}
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if strings.HasPrefix(text, "Copyright") {
		return ""
	}
	return text
}

// literal returns the text of a literal, or of literals and values that are joined with +. It reports false if no
// literal is at the top.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		words, err := strconv.Unquote(e.Value)
		return words, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, inLeft := literal(e.X)
		right, inRight := literal(e.Y)
		if !inLeft {
			left = "%v"
		}
		if !inRight {
			right = "%v"
		}
		return left + right, inLeft || inRight
	}
	return "", false
}
