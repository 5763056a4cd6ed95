// Package output holds what a conversion comes to: the files that are written, and the report of what became of
// the tasks.
package output

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// An Output is what has come out so far.
type Output struct {
	Root   string          // the folder of the input, from which paths of reports are seen
	Files  map[string]File // by path, below the folder that is written
	Report Report

	Variables map[string]bool // of plays, and of files beside them that are copied
}

// A File is one that is written.
type File struct {
	Content []byte
	Mode    fs.FileMode
}

// New has nothing in it.
func New(root string) *Output {
	return &Output{Root: root, Files: map[string]File{}, Variables: map[string]bool{}, Report: Report{Modules: map[string]*Share{}, Keyword: map[string]*Share{}}}
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
func (o *Output) Save(path, text string) { o.Files[path] = File{[]byte(text), 0o644} }

// SaveYAML writes a document.
func (o *Output) SaveYAML(path string, n *yaml.Node) { o.Files[path] = File{yamlnode.Encode(n), 0o644} }

// MaxFile bounds files that are copied: 16 MiB. Larger ones are named in the report.
const MaxFile = 16 << 20

// Copy copies a file, or a folder with all that is in it, if it is there.
func (o *Output) Copy(from, to string) {
	filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what is not there, or cannot be read, fails where it is used
		}
		rel, err := filepath.Rel(from, path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || !info.Mode().IsRegular() {
			return nil
		}
		if info.Size() > MaxFile {
			o.Report.Note(o.Shown(path), 0, "is larger than 16 MiB and was not copied")
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			o.Files[filepath.ToSlash(filepath.Join(to, rel))] = File{text, info.Mode().Perm()}
		}
		return nil
	})
}

// ReadYAML reads the one document of a file; nil if that is empty.
func (o *Output) ReadYAML(path string) (*yaml.Node, error) {
	return yamlnode.ReadFile(path, o.Shown(path))
}
