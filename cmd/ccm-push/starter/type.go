package starter

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A new type begins as the type that docs/internals/adding-a-type.md shows: a test compiles that text unchanged, and
// checks it against the contract of types.
const (
	examplePage = "docs/internals/adding-a-type.md"
	example     = "tidy"
)

var (
	moduleLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^module github\.com/ccm-push/ccm-push$`) })
	typeName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*$`) })
)

// Type writes the folder of a resource type into a checkout of the sources, which dir is in.
func Type(dir, name string) ([]string, error) {
	if !typeName().MatchString(name) || token.IsKeyword(name) {
		return nil, fmt.Errorf("type %q: small letters and digits, since a Go package is called that too", name)
	}
	checkout, err := findCheckout(dir)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(checkout, "modules", name)
	if _, err := os.Lstat(folder); err == nil {
		return nil, fmt.Errorf("%s is there already; nothing was written", folder)
	}
	page, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(examplePage)))
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	title := strings.ToUpper(name[:1]) + name[1:]
	words := strings.NewReplacer("Tidy", title, example, name)
	for _, file := range []string{example + ".go", example + "_test.go"} {
		text, err := block(string(page), "modules/"+example+"/"+file)
		if err != nil {
			return nil, err
		}
		texts[filepath.Join(folder, words.Replace(file))] = words.Replace(text)
	}
	return write(texts)
}

// block is the Go block that a page shows for a file.
func block(page, file string) (string, error) {
	_, rest, found := strings.Cut(page, "`"+file+"`")
	_, rest, open := strings.Cut(rest, "\n```go\n")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !open || !closed {
		return "", fmt.Errorf("%s does not show %s", examplePage, file)
	}
	return text + "\n", nil
}

// findCheckout is the folder of the sources that dir is in.
func findCheckout(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && moduleLine().Match(text) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("run new type in a checkout of the sources of ccm-push")
		}
	}
}
