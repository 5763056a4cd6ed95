//go:build !host

package modules

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Exampled is a type with examples of its resources. Only the controller uses it, so a type's file for it has the build
// tag !host.
type Exampled interface {
	// Examples returns a file system with a folder "examples". Each *.yaml in it is a list of resources, as in
	// manifests, after a comment that describes it. Files that the resources use from the manifest's folder are next to
	// it. Tests run each example, with a folder in place of the root: its paths begin with /etc, /opt or /srv.
	// details.md has further facts for users, and may be missing: see [Type.Details].
	Examples() fs.FS
}

// An Example is one of a type.
type Example struct {
	Name  string // name of its file
	Title string
	Text  string // YAML, without the title
}

// Examples returns the examples of the type, in the order of their file names.
func (t Type) Examples() ([]Example, error) {
	r, ok := t.New().(Exampled)
	if !ok {
		return nil, nil
	}
	files := r.Examples()
	names, err := fs.Glob(files, "examples/*.yaml")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []Example
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		e := Example{Name: path.Base(name)}
		var title []string
		rest := string(text)
		for strings.HasPrefix(rest, "#") {
			var line string
			line, rest, _ = strings.Cut(rest, "\n")
			title = append(title, strings.TrimSpace(strings.TrimPrefix(line, "#")))
		}
		e.Title, e.Text = strings.Join(title, " "), rest
		list = append(list, e)
	}
	return list, nil
}

// Details returns further facts for users in Markdown without links: paragraphs, lists and
// tables. Empty means none.
func (t Type) Details() (string, error) {
	r, ok := t.New().(Exampled)
	if !ok {
		return "", nil
	}
	text, err := fs.ReadFile(r.Examples(), "examples/details.md")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}
