package templates

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// partialsFolder is the name of the folders whose files are only rendered by others.
const partialsFolder = "_partials"

// isStatic reports whether a file is copied as it is: because all are, because it is not text, or
// has none of the delimiters of the templates.
func isStatic(s Scaffold, content []byte) bool {
	left := s.Delims.Left
	switch {
	case s.Plain || !utf8.Valid(content):
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

// A ScaffoldTree is a parsed scaffold. It is shared by all hosts of a run.
type ScaffoldTree struct {
	Mode  fs.FileMode // mode of the folder, permission bits only
	files *render.Files
	nodes []parsedNode // directories before their content
}

// parsedNode is one path of the folder.
type parsedNode struct {
	ScaffoldNode
	template *render.Template // template of a rendered file
	blank    bool             // a file of white space only
}

// A ScaffoldNode is one path of a scaffold's result: a directory if Dir, a link if Target is set, a file that is copied
// if Copy is set, else a file with Text.
type ScaffoldNode struct {
	Path   string // below the folder, clean
	Mode   fs.FileMode
	Dir    bool
	Target string
	Copy   string // the file of the play
	Text   string
}

// ScaffoldBounds are the bounds of a scaffold, in the folder of the play as on the host.
type ScaffoldBounds struct {
	Nodes int   // files, directories and links
	Size  int64 // bytes of rendered texts together
	Path  func(name string) error
	Link  func(name, target string) error
}

// LoadScaffold reads a folder and parses the templates in it. Folders called _partials are
// parsed too, but are not part of the result, unless nothing is a template. The errors of all
// files are joined.
func LoadScaffold(f *render.Files, s Scaffold, bounds ScaffoldBounds) (*ScaffoldTree, error) {
	if path.IsAbs(s.Folder) {
		return nil, diag.Faultf("%q is not below the folder of the play", s.Folder).WithHint("write a path relative to %s", f.Dir())
	}
	s.Folder = path.Clean(s.Folder)
	return render.KeepParsed(f, "tree\x00"+s.Key(), func() (*ScaffoldTree, error) {
		l := &scaffoldLoader{scaffold: s, bounds: bounds, files: f, tree: &ScaffoldTree{files: f}}
		return l.load()
	})
}

type scaffoldLoader struct {
	scaffold Scaffold
	bounds   ScaffoldBounds
	files    *render.Files
	tree     *ScaffoldTree
	errs     []error
	names    int // read so far, including partials
}

func (l *scaffoldLoader) load() (*ScaffoldTree, error) {
	info, err := l.files.Stat(l.scaffold.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.Faultf("no folder %q in %s", l.scaffold.Folder, render.FolderName(l.files.Dir())).WithCause(err)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, diag.Faultf("%q is not a folder", l.scaffold.Folder).WithHint("write the name of a folder; to copy a single file, use a file resource")
	}
	l.tree.Mode = info.Mode().Perm()
	l.folder("", false)
	if len(l.errs) == 0 && len(l.tree.nodes) == 0 {
		l.errs = append(l.errs, diag.Faultf("no files in %q", l.scaffold.Folder))
	}
	return l.tree, errors.Join(l.errs...)
}

// folder reads the content of a folder; parts reports that it holds partials.
func (l *scaffoldLoader) folder(name string, parts bool) {
	entries, err := l.entries(path.Join(l.scaffold.Folder, name))
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	for _, entry := range entries {
		if l.names++; l.names > l.bounds.Nodes {
			if l.names == l.bounds.Nodes+1 {
				l.errs = append(l.errs, l.tooMany())
			}
			return
		}
		l.entry(path.Join(name, entry.Name()), entry, parts)
	}
}

func (l *scaffoldLoader) entries(name string) ([]fs.DirEntry, error) {
	entries, err := l.files.Entries(name, l.bounds.Nodes+1)
	switch {
	case err != nil:
		return nil, err
	case len(entries) > l.bounds.Nodes:
		l.names = l.bounds.Nodes + 1 // no other folder reports it
		return nil, l.tooMany()
	}
	return entries, nil
}

func (l *scaffoldLoader) tooMany() error {
	return diag.Faultf("there are more than %d files, directories and links in %q", l.bounds.Nodes, l.scaffold.Folder)
}

func (l *scaffoldLoader) entry(name string, entry fs.DirEntry, parts bool) {
	parts = parts || entry.IsDir() && entry.Name() == partialsFolder && !l.scaffold.Plain
	node := parsedNode{ScaffoldNode: ScaffoldNode{Path: name}}
	info, err := entry.Info()
	if err == nil {
		node.Mode, err = info.Mode().Perm(), l.bounds.Path(name)
	}
	switch {
	case err != nil:
	case entry.IsDir():
		node.Dir = true
		defer l.folder(name, parts)
	case entry.Type() == fs.ModeSymlink:
		node.Mode = 0
		node.Target, err = l.files.Readlink(path.Join(l.scaffold.Folder, name))
		if err == nil {
			err = l.bounds.Link(name, node.Target)
		}
	case !entry.Type().IsRegular():
		err = diag.Faultf("invalid file in source: a device, socket or pipe")
	default:
		err = l.file(&node, parts)
	}
	if err != nil {
		l.errs = append(l.errs, diag.At(diag.Position{File: path.Join(l.scaffold.Folder, name)}, err))
		return
	}
	if parts {
		return
	}
	l.tree.nodes = append(l.tree.nodes, node)
}

// file reads and parses a file. The content of a file that is copied is not kept.
func (l *scaffoldLoader) file(node *parsedNode, part bool) error {
	file := path.Join(l.scaffold.Folder, node.Path)
	content, err := l.files.ReadOnce(file)
	if err != nil {
		return err
	}
	if isStatic(l.scaffold, content) {
		node.Copy, node.blank = file, len(bytes.TrimSpace(content)) == 0
		return nil
	}
	if node.template, err = render.ScaffoldTemplate(l.files, languages{}, l.scaffold, file, part); err != nil {
		return err
	}
	return node.template.Reads().Check(l.files)
}

// Facts lists the facts that the templates can read; see [Text.Facts].
func (t *ScaffoldTree) Facts() (paths []string, all bool) { return t.Inputs().Facts() }

// Inputs returns the inputs of the templates.
func (t *ScaffoldTree) Inputs() (total render.Inputs) {
	for _, n := range t.nodes {
		if n.template != nil {
			total.Add(n.template.Reads().Inputs(t.files))
		}
	}
	return total
}

// CheckPaths works like [Text.CheckPaths], for all templates.
func (t *ScaffoldTree) CheckPaths(taint render.Taint) error {
	var errs []error
	for _, n := range t.nodes {
		if n.template != nil {
			errs = append(errs, n.template.CheckPaths(t.files, taint))
		}
	}
	return errors.Join(errs...)
}
