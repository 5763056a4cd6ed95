// Package output holds what a conversion comes to: the files that are written, and the report of what became of
// the tasks.
package output

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/repository"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// An Output is what has come out so far.
type Output struct {
	Root   string // the folder of the input, from which paths of reports are seen
	From   *repository.Folder
	Files  map[string]File // by path, below the folder that is written
	Report Report

	Known     Known
	Variables map[string]bool // of plays, and of files beside them that are copied
}

// Known is what a first conversion has found out about variables, for the second one.
type Known struct {
	Overrides map[string][]expression.Kind // types of values that scopes and tasks give to variables
	Sets      map[string]bool              // variables that tasks set
	Sent      map[string]bool              // variables that tasks or scopes set to what a host sends
	Split     map[string]bool              // variables of which roles have different defaults
}

// A File is a file of the output.
type File struct {
	Content []byte
	Mode    fs.FileMode
}

// New returns an empty output. The caller closes it.
func New(ctx context.Context, root string) (*Output, error) {
	o := &Output{Root: root, Files: map[string]File{}, Known: Known{map[string][]expression.Kind{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}, Variables: map[string]bool{}, Report: Report{Modules: map[string]*Share{}, Keyword: map[string]*Share{}}}
	var err error
	o.From, err = repository.Open(ctx, root, func(path, why string) { o.Report.Note(o.Shown(path), 0, why) })
	return o, err
}

// Override notes that a scope or a task sets a variable to a value of a type.
func (o *Output) Override(name string, kind expression.Kind) {
	if !slices.Contains(o.Known.Overrides[name], kind) {
		o.Known.Overrides[name] = append(o.Known.Overrides[name], kind)
	}
}

// Shown is a path as reports have it.
func (o *Output) Shown(path string) string {
	if rel, err := filepath.Rel(o.Root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// Names are the paths of the files that are written, in order.
func (o *Output) Names() []string { return slices.Sorted(maps.Keys(o.Files)) }

// Save writes a text.
func (o *Output) Save(path, text string) { o.Files[path] = File{[]byte(text), made} }

// SaveYAML writes a document.
func (o *Output) SaveYAML(path string, n *yaml.Node) { o.Files[path] = File{yamlnode.Encode(n), made} }

// CopyOne copies a file. It is an error if another file is written to this path, such as one of another playbook's folder.
func (o *Output) CopyOne(from, to string) error {
	old, there := o.Files[to]
	if o.Copy(from, to); there && string(old.Content) != string(o.Files[to].Content) {
		o.Files[to] = old
		return fmt.Errorf("the file %s, since another one is written to %s", o.Shown(from), to)
	}
	return nil
}

// Copy copies a file, or a folder with all that is in it, if it is there.
func (o *Output) Copy(from, to string) {
	paths := []string{from}
	if o.From.IsFolder(from) {
		paths = o.From.Files(from)
	}
	for _, path := range paths {
		rel, err := filepath.Rel(from, path)
		if err != nil || !o.From.IsFile(path) {
			continue // what is not there, or cannot be read, fails where it is used
		}
		if text, mode, err := o.From.Copy(path); err == nil {
			o.Files[filepath.ToSlash(filepath.Join(to, rel))] = File{text, mode}
		}
	}
}

// ReadYAML reads the one document of a file; nil if that is empty.
func (o *Output) ReadYAML(path string) (*yaml.Node, error) {
	text, err := o.From.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return yamlnode.Parse(text, o.Shown(path))
}

// Close sets the modes of all written files. They are no more readable than the least readable file that
// was read, since they may contain text of each file.
func (o *Output) Close() {
	for name, file := range o.Files {
		if file.Mode == made {
			file.Mode = 0o644 & o.From.Mode()
			o.Files[name] = file
		}
	}
}

// made is the mode of written files until [Output.Close].
const made fs.FileMode = 0
