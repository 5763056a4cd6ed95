// Package scaffold renders folders of templates.
package scaffold

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/dataflow"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/folder"
	"github.com/ccm-push/ccm-push/templates/render"
	"github.com/ccm-push/ccm-push/templates/scope"
)

// partials is the name of the folders whose files are only rendered by others.
const partials = "_partials"

// isStatic reports whether a file is copied as it is: it is no text, or nothing in
// it is of the template language.
func isStatic(s render.Scaffold, content []byte) bool {
	left := s.Delims.Left
	switch {
	case !utf8.Valid(content):
		return true
	case s.Go:
		if left == "" {
			left = "{{"
		}
		return !bytes.Contains(content, []byte(left))
	case left == "" || s.Delims.Right == "":
		left = render.JetLeft
	}
	return !bytes.Contains(content, []byte(left))
}

// A Tree is a scaffold that has been read and parsed. It is shared by all
// hosts of a run.
type Tree struct {
	Mode  fs.FileMode // of the folder, permission bits only
	files *folder.Files
	nodes []parsedNode // directories before what is in them
}

// parsedNode is one path of the folder.
type parsedNode struct {
	Node
	template *render.Template // of a file that is rendered
	blank    bool             // a file of white space only
}

// A Node is one path that a scaffold comes to: a directory if Dir, a
// link if Target is given, a file that is copied if Copy is, else a file with
// Text.
type Node struct {
	Path   string // below the folder, clean
	Mode   fs.FileMode
	Dir    bool
	Target string
	Copy   string // the file of the play
	Text   string
}

// Bounds of a scaffold, in the folder of the play as on the host.
type Bounds struct {
	Nodes int   // files, directories and links
	Size  int64 // bytes of rendered texts together
	Path  func(name string) error
	Link  func(name, target string) error
}

// Load reads a folder and parses the templates in it. Nothing is left out but
// folders called _partials. The errors of all files are joined.
func Load(f *folder.Files, s render.Scaffold, bounds Bounds, in render.Languages) (*Tree, error) {
	if path.IsAbs(s.Folder) {
		return nil, diag.Faultf("%q is not below the folder of the play", s.Folder).WithHint("write a path relative to %s", f.Dir())
	}
	s.Folder = path.Clean(s.Folder)
	return folder.Keep(f, "tree\x00"+s.Key(), func() (*Tree, error) {
		l := &loader{Scaffold: s, Bounds: bounds, languages: in, files: f, tree: &Tree{files: f}}
		return l.load()
	})
}

type loader struct {
	render.Scaffold
	Bounds
	languages render.Languages
	files     *folder.Files
	tree      *Tree
	errs      []error
}

func (l *loader) load() (*Tree, error) {
	info, err := l.files.Stat(l.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.Faultf("there is no folder %q in %s", l.Folder, folder.Name(l.files.Dir())).WithCause(err)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, diag.Faultf("%q is no folder", l.Folder).WithHint("a file resource has one file as its source")
	}
	l.tree.Mode = info.Mode().Perm()
	l.folder("", false)
	if len(l.errs) == 0 && len(l.tree.nodes) == 0 {
		l.errs = append(l.errs, diag.Faultf("there are no files in %q", l.Folder))
	}
	return l.tree, errors.Join(l.errs...)
}

// folder reads what is in a folder; parts says that it is one of partials.
func (l *loader) folder(name string, parts bool) {
	entries, err := l.entries(path.Join(l.Folder, name))
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	for _, entry := range entries {
		if len(l.tree.nodes) > l.Nodes {
			return
		}
		l.entry(path.Join(name, entry.Name()), entry, parts)
	}
}

func (l *loader) entries(name string) ([]fs.DirEntry, error) {
	entries, err := l.files.Entries(name, l.Nodes+1)
	switch {
	case err != nil:
		return nil, err
	case len(entries) > l.Nodes:
		return nil, l.tooMany()
	}
	return entries, nil
}

func (l *loader) tooMany() error {
	return diag.Faultf("there are more than %d files, directories and links in %q", l.Nodes, l.Folder)
}

func (l *loader) entry(name string, entry fs.DirEntry, parts bool) {
	parts = parts || entry.IsDir() && entry.Name() == partials
	node := parsedNode{Node: Node{Path: name}}
	info, err := entry.Info()
	if err == nil {
		node.Mode, err = info.Mode().Perm(), l.Path(name)
	}
	switch {
	case err != nil:
	case entry.IsDir():
		node.Dir = true
		defer l.folder(name, parts)
	case entry.Type() == fs.ModeSymlink:
		node.Mode = 0
		node.Target, err = l.files.Readlink(path.Join(l.Folder, name))
		if err == nil {
			err = l.Link(name, node.Target)
		}
	case !entry.Type().IsRegular():
		err = diag.Faultf("invalid file in source: a device, socket or pipe")
	default:
		err = l.file(&node, parts)
	}
	if err != nil {
		l.errs = append(l.errs, diag.At(diag.Position{File: path.Join(l.Folder, name)}, err))
		return
	}
	if parts {
		return
	}
	if l.tree.nodes = append(l.tree.nodes, node); len(l.tree.nodes) == l.Nodes+1 {
		l.errs = append(l.errs, l.tooMany())
	}
}

// file reads and parses a file. One that is copied is not kept.
func (l *loader) file(node *parsedNode, part bool) error {
	file := path.Join(l.Folder, node.Path)
	content, err := l.files.ReadOnce(file)
	if err != nil {
		return err
	}
	if isStatic(l.Scaffold, content) {
		node.Copy, node.blank = file, len(bytes.TrimSpace(content)) == 0
		return nil
	}
	if node.template, err = render.ScaffoldTemplate(l.files, l.languages, l.Scaffold, file, part); err != nil {
		return err
	}
	return node.template.Reads().Check(l.files)
}

// Facts tells which facts the templates can read; see [expression.Text.Facts].
func (t *Tree) Facts() (paths []string, all bool) { return t.Inputs().Facts() }

// Inputs gives what the templates can read.
func (t *Tree) Inputs() (total dataflow.Inputs) {
	for _, n := range t.nodes {
		if n.template != nil {
			total.Add(n.template.Reads().Inputs(t.files))
		}
	}
	return total
}

// CheckPaths is that of [expression.Text.CheckPaths], for all templates.
func (t *Tree) CheckPaths(taint dataflow.Taint) error {
	var errs []error
	for _, n := range t.nodes {
		if n.template != nil {
			errs = append(errs, n.template.CheckPaths(t.files, taint))
		}
	}
	return errors.Join(errs...)
}

// Render gives what the scaffold comes to for one host, directories before what
// is in them. With skipEmpty, files of white space only are left out.
func (t *Tree) Render(ctx context.Context, env *scope.Env, skipEmpty bool, bounds Bounds) ([]Node, error) {
	out := &rendering{Bounds: bounds, skipEmpty: skipEmpty, kinds: map[string]kind{}}
	for _, n := range t.nodes {
		out.kinds[n.Path] = n.kind()
	}
	for _, n := range t.nodes {
		node := n.Node
		if n.template != nil {
			var err error
			if node.Text, err = n.template.RenderTo(ctx, env, out); err != nil {
				return nil, err
			}
			n.blank = strings.TrimSpace(node.Text) == ""
		}
		if n.blank && skipEmpty {
			continue
		}
		if err := out.add(node); err != nil {
			return nil, diag.At(diag.Position{File: n.Path}, err)
		}
	}
	slices.SortFunc(out.nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return out.nodes, nil
}

func (n Node) kind() kind {
	switch {
	case n.Dir:
		return scaffoldDir
	case n.Target != "":
		return scaffoldLink
	}
	return scaffoldFile
}

type kind int

const (
	scaffoldFile kind = iota + 1
	scaffoldDir
	scaffoldLink
	scaffoldWritten // a file that a template has written
)

// rendering is one scaffold on its way to one host.
type rendering struct {
	Bounds
	skipEmpty bool
	nodes     []Node
	size      int64
	kinds     map[string]kind // of all paths that are taken
}

func (r *rendering) add(n Node) error {
	r.nodes = append(r.nodes, n)
	r.size += int64(len(n.Text))
	switch {
	case len(r.nodes) > r.Nodes:
		return diag.Faultf("the scaffold has grown beyond %d files, directories and links", r.Nodes)
	case r.size > r.Size:
		return diag.Faultf("the files of the scaffold have grown beyond %d MiB", r.Size>>20)
	}
	return nil
}

// Attributes of what templates write, which has none in the play.
const (
	writtenFile fs.FileMode = 0o644
	writtenDir  fs.FileMode = 0o755
)

// WriteFile adds a file that a template has made, with the directories on the way
// to it. No error shows a path: it may be made of what a host sent.
func (r *rendering) WriteFile(name, text string) error {
	switch {
	case r.Path(name) != nil || !utf8.ValidString(name):
		return diag.Faultf("write: the path must be clean and lead below the target").WithHint(`write it as "conf.d/site.conf"`)
	case r.skipEmpty && strings.TrimSpace(text) == "":
		return nil
	}
	switch r.kinds[name] {
	case scaffoldWritten:
		return diag.Faultf("write: the same file is written twice")
	case scaffoldFile, scaffoldLink, scaffoldDir:
		return diag.Faultf("write: there is something else of this name in the source")
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		switch dir := name[:i]; r.kinds[dir] {
		case scaffoldDir:
		case 0:
			r.kinds[dir] = scaffoldDir
			if err := r.add(Node{Path: dir, Dir: true, Mode: writtenDir}); err != nil {
				return err
			}
		default:
			return diag.Faultf("write: the path leads through a file or a link")
		}
	}
	r.kinds[name] = scaffoldWritten
	return r.add(Node{Path: name, Text: text, Mode: writtenFile})
}
