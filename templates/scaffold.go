package templates

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// partials is the name of the folders whose files are only rendered by others.
const partials = "_partials"

// A Scaffold is a folder of the play whose files are templates of one language.
type Scaffold struct {
	Folder string // relative to the folder of the play
	Go     bool   // text/template; else Jet
	Delims Delims
}

func (s Scaffold) key() string {
	language := "jet"
	if s.Go {
		language = "go"
	}
	return strings.Join([]string{s.Folder, language, s.Delims.Left, s.Delims.Right}, "\x00")
}

// static reports whether a file is copied as it is: it is no text, or nothing in
// it is of the template language.
func (s Scaffold) static(content []byte) bool {
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
		left = jetLeft
	}
	return !bytes.Contains(content, []byte(left))
}

// below gives the path in the play of a path of the folder.
func (s Scaffold) below(name string) (string, bool) {
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false
	}
	return path.Join(s.Folder, clean), true
}

// A ScaffoldTree is a scaffold that has been read and parsed. It is shared by all
// hosts of a run.
type ScaffoldTree struct {
	Mode  fs.FileMode // of the folder, permission bits only
	files *Files
	nodes []scaffoldNode // directories before what is in them
}

// scaffoldNode is one path of the folder.
type scaffoldNode struct {
	ScaffoldNode
	template *Template // of a file that is rendered
	blank    bool      // a file of white space only
}

// A ScaffoldNode is one path that a scaffold comes to: a directory if Dir, a
// link if Target is given, a file that is copied if Copy is, else a file with
// Text.
type ScaffoldNode struct {
	Path   string // below the folder, clean
	Mode   fs.FileMode
	Dir    bool
	Target string
	Copy   string // the file of the play
	Text   string
}

// Bounds of a scaffold, in the folder of the play as on the host.
type ScaffoldBounds struct {
	Nodes int   // files, directories and links
	Size  int64 // bytes of rendered texts together
	Path  func(name string) error
	Link  func(name, target string) error
}

// Scaffold reads a folder and parses the templates in it. Nothing is left out but
// folders called _partials. The errors of all files are joined.
func (f *Files) Scaffold(s Scaffold, bounds ScaffoldBounds) (*ScaffoldTree, error) {
	if path.IsAbs(s.Folder) {
		return nil, faultf("%q is not below the folder of the play", s.Folder).withHint("write a path relative to %s", f.dir)
	}
	s.Folder = path.Clean(s.Folder)
	return f.scaffolds.get(s.key(), func() (*ScaffoldTree, error) {
		l := &scaffoldLoader{Scaffold: s, ScaffoldBounds: bounds, files: f, tree: &ScaffoldTree{files: f}}
		return l.load()
	})
}

type scaffoldLoader struct {
	Scaffold
	ScaffoldBounds
	files *Files
	tree  *ScaffoldTree
	errs  []error
}

func (l *scaffoldLoader) load() (*ScaffoldTree, error) {
	info, err := l.files.root.Stat(l.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, (&fault{err: err}).says("there is no folder %q in %s", l.Folder, FolderName(l.files.dir))
	case err != nil:
		return nil, l.files.explain(l.Folder, err)
	case !info.IsDir():
		return nil, faultf("%q is no folder", l.Folder).withHint("a file resource has one file as its source")
	}
	l.tree.Mode = info.Mode().Perm()
	l.folder("", false)
	if len(l.errs) == 0 && len(l.tree.nodes) == 0 {
		l.errs = append(l.errs, faultf("there are no files in %q", l.Folder))
	}
	return l.tree, errors.Join(l.errs...)
}

func (f *fault) says(format string, args ...any) *fault {
	f.msg = faultf(format, args...).msg
	return f
}

// folder reads what is in a folder; parts says that it is one of partials.
func (l *scaffoldLoader) folder(name string, parts bool) {
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

func (l *scaffoldLoader) entries(name string) ([]fs.DirEntry, error) {
	dir, err := l.files.root.Open(name)
	if err != nil {
		return nil, l.files.explain(name, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(l.Nodes + 1)
	if len(entries) > l.Nodes {
		return nil, l.tooMany()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, l.files.explain(name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (l *scaffoldLoader) tooMany() error {
	return faultf("there are more than %d files, directories and links in %q", l.Nodes, l.Folder)
}

func (l *scaffoldLoader) entry(name string, entry fs.DirEntry, parts bool) {
	parts = parts || entry.IsDir() && entry.Name() == partials
	node := scaffoldNode{ScaffoldNode: ScaffoldNode{Path: name}}
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
		node.Target, err = l.files.root.Readlink(path.Join(l.Folder, name))
		if err == nil {
			err = l.Link(name, node.Target)
		}
	case !entry.Type().IsRegular():
		err = faultf("invalid file in source: a device, socket or pipe")
	default:
		err = l.file(&node, parts)
	}
	if err != nil {
		l.errs = append(l.errs, at(Position{File: path.Join(l.Folder, name)}, err))
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
func (l *scaffoldLoader) file(node *scaffoldNode, part bool) error {
	file := path.Join(l.Folder, node.Path)
	content, err := l.files.read(file)
	if err != nil {
		return err
	}
	if l.static(content) {
		node.Copy, node.blank = file, len(bytes.TrimSpace(content)) == 0
		return nil
	}
	if node.template, err = l.files.scaffoldTemplate(l.Scaffold, file, part); err != nil {
		return err
	}
	return node.template.mentions.check(l.files)
}

// scaffoldTemplate gives a file of a scaffold, parsed; part says that another one
// renders it.
func (f *Files) scaffoldTemplate(s Scaffold, file string, part bool) (*Template, error) {
	key := s.key() + "\x00" + file
	if part {
		key += "\x00part"
	}
	return f.templates.get(key, func() (*Template, error) {
		source, err := f.read(file)
		switch {
		case err != nil:
			return nil, err
		case !utf8.Valid(source):
			return nil, faultf("%q is not text, so that it cannot be rendered", file)
		case s.Go:
			return parseGo(string(source), wholeFile(file), s.Delims, &scaffolded{s, part})
		}
		return parseJet(string(source), wholeFile(file), s.Delims, f, &scaffolded{s, part})
	})
}

// scaffolded is a template of a scaffold: it has the functions render and write,
// and its context is the root of the values or, of a part, whatever it is given.
type scaffolded struct {
	Scaffold
	part bool
}

// call binds a render() to the file that it names.
func (s *scaffolded) call(name string, pos Position) (*renderCall, error) {
	file, ok := s.below(name)
	if !ok {
		return nil, faultf("render: %q is not a path below %s", name, s.Folder).withHint("write a path from the source folder")
	}
	return &renderCall{file: file, scaffold: &s.Scaffold, pos: pos}, nil
}

// Facts tells which facts the templates can read; see [Text.Facts].
func (t *ScaffoldTree) Facts() (paths []string, all bool) {
	total := &mentions{}
	for _, n := range t.nodes {
		if n.template != nil {
			total.add(n.template.mentions.follow(t.files))
		}
	}
	return total.result()
}

// CheckPaths is that of [Text.CheckPaths], for all templates.
func (t *ScaffoldTree) CheckPaths(taint Taint) error {
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
func (t *ScaffoldTree) Render(ctx context.Context, env *Env, skipEmpty bool, bounds ScaffoldBounds) ([]ScaffoldNode, error) {
	out := &rendering{ScaffoldBounds: bounds, skipEmpty: skipEmpty, kinds: map[string]scaffoldKind{}}
	for _, n := range t.nodes {
		out.kinds[n.Path] = n.kind()
	}
	for _, n := range t.nodes {
		node := n.ScaffoldNode
		if n.template != nil {
			r, err := newRun(ctx, env)
			if err != nil {
				return nil, at(n.template.at, err)
			}
			r.scaffold = out
			if node.Text, err = n.template.render(r); err != nil {
				return nil, err
			}
			n.blank = strings.TrimSpace(node.Text) == ""
		}
		if n.blank && skipEmpty {
			continue
		}
		if err := out.add(node); err != nil {
			return nil, at(Position{File: n.Path}, err)
		}
	}
	slices.SortFunc(out.nodes, func(a, b ScaffoldNode) int { return strings.Compare(a.Path, b.Path) })
	return out.nodes, nil
}

func (n ScaffoldNode) kind() scaffoldKind {
	switch {
	case n.Dir:
		return scaffoldDir
	case n.Target != "":
		return scaffoldLink
	}
	return scaffoldFile
}

type scaffoldKind int

const (
	scaffoldFile scaffoldKind = iota + 1
	scaffoldDir
	scaffoldLink
	scaffoldWritten // a file that a template has written
)

// rendering is one scaffold on its way to one host.
type rendering struct {
	ScaffoldBounds
	skipEmpty bool
	nodes     []ScaffoldNode
	size      int64
	kinds     map[string]scaffoldKind // of all paths that are taken
}

func (r *rendering) add(n ScaffoldNode) error {
	r.nodes = append(r.nodes, n)
	r.size += int64(len(n.Text))
	switch {
	case len(r.nodes) > r.Nodes:
		return faultf("the scaffold has grown beyond %d files, directories and links", r.Nodes)
	case r.size > r.Size:
		return faultf("the files of the scaffold have grown beyond %d MiB", r.Size>>20)
	}
	return nil
}

// Attributes of what templates write, which has none in the play.
const (
	writtenFile fs.FileMode = 0o644
	writtenDir  fs.FileMode = 0o755
)

// write adds a file that a template has made, with the directories on the way to
// it. No error shows a path: it may be made of what a host sent.
func (r *run) write(args []any) (any, error) {
	s, err := stringArgs("write", args)
	if err != nil {
		return nil, err
	}
	name, text, out := s[0], s[1], r.scaffold
	switch {
	case out == nil:
		return nil, faultf("write: there is no scaffold to write to here")
	case out.Path(name) != nil || !utf8.ValidString(name):
		return nil, faultf("write: the path must be clean and lead below the target").withHint(`write it as "conf.d/site.conf"`)
	case out.skipEmpty && strings.TrimSpace(text) == "":
		return "", nil
	}
	switch out.kinds[name] {
	case scaffoldWritten:
		return nil, faultf("write: the same file is written twice")
	case scaffoldFile, scaffoldLink, scaffoldDir:
		return nil, faultf("write: there is something else of this name in the source")
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		switch dir := name[:i]; out.kinds[dir] {
		case scaffoldDir:
		case 0:
			out.kinds[dir] = scaffoldDir
			if err := out.add(ScaffoldNode{Path: dir, Dir: true, Mode: writtenDir}); err != nil {
				return nil, err
			}
		default:
			return nil, faultf("write: the path leads through a file or a link")
		}
	}
	out.kinds[name] = scaffoldWritten
	return "", out.add(ScaffoldNode{Path: name, Text: text, Mode: writtenFile})
}
