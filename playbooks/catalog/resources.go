package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// resourcesFolder is where, beside a manifest, the programs stand that it brings
// along.
const resourcesFolder = "resources"

// A bundle is a folder resources/ as hosts get it: read and hashed once per run.
// What is done with it for each host does not grow with it.
type bundle struct {
	nodes   []modules.TreeNode
	listing modules.Content // the tree as JSON
	texts   map[string][]byte
	files   map[string]sourceFile
	look    fs.FS // what types see of it on the controller
	err     error // why it cannot be sent
}

// readBundle reads the folder of that name. The error of a folder that cannot be
// sent is in the bundle, so that it is one of the resources that ask for it.
func readBundle(from *sources, folder string) *bundle {
	if _, err := from.root.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w := bundleWalk{sources: from, folder: folder, bundle: &bundle{files: map[string]sourceFile{}}}
	err := w.directory("", 0)
	if err == nil && len(w.left) > 0 {
		err = w.bringNamed()
	}
	if err == nil {
		err = w.bundle.finish()
	}
	if err != nil {
		return &bundle{err: err, look: unreadable{err}}
	}
	w.bundle.look, w.bundle.err = fs.Sub(from.root.FS(), folder)
	if len(w.left) > 0 {
		w.bundle.look = withoutLeft(w.bundle.look, w.left)
	}
	return w.bundle
}

// finish makes the listing of what has been found.
func (b *bundle) finish() error {
	tree := modules.Tree{Mode: ownerAll, Nodes: b.nodes}
	if err := tree.Validate(); err != nil {
		return fmt.Errorf("%s/: %w", resourcesFolder, err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	b.listing = modules.BytesContent(text)
	b.texts = map[string][]byte{b.listing.SHA256(): text}
	return nil
}

// unreadable is a file system that has nothing but a reason for that.
type unreadable struct{ err error }

// Open implements [fs.FS].
func (u unreadable) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: u.err}
}

// bundleWalk goes through a folder resources/.
type bundleWalk struct {
	*sources
	folder string
	bundle *bundle
	size   int64 // of the files, in bytes
	left   []left
}

// fault says what is wrong with a path of the folder.
func (w *bundleWalk) fault(name string, err error) error {
	return fmt.Errorf("%s: %w", path.Join(resourcesFolder, name), unwrapPath(err))
}

// directory adds what is in a directory, after the directory itself. The folder
// itself may be reached by a link.
func (w *bundleWalk) directory(name string, depth int) error {
	if depth > modules.MaxTreeDepth {
		return w.fault(name, fmt.Errorf("is more than %d directories deep", modules.MaxTreeDepth))
	}
	dir, err := w.root.Open(path.Join(w.folder, name) + "/.") // of anything else, a pipe say, that fails at once
	if err != nil {
		return w.fault(name, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(modules.MaxTreeNodes + 1 - len(w.bundle.nodes))
	if err != nil && err != io.EOF {
		return w.fault(name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if leavesOut(e.Name()) {
			w.left = append(w.left, left{path.Join(name, e.Name()), e.Type(), depth + 1})
			continue
		}
		if err := w.entry(path.Join(name, e.Name()), e.Type(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *bundleWalk) entry(name string, kind fs.FileMode, depth int) error {
	if len(w.bundle.nodes) >= modules.MaxTreeNodes {
		return fmt.Errorf("%s/: there are more than %d files, directories and links", resourcesFolder, modules.MaxTreeNodes)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("%s/: the name %q is not UTF-8", resourcesFolder, name)
	}
	switch {
	case kind.IsDir():
		w.add(modules.TreeNode{Path: name, Mode: ownerAll})
		return w.directory(name, depth)
	case kind&fs.ModeSymlink != 0:
		return w.link(name)
	}
	return w.file(name)
}

func (w *bundleWalk) add(n modules.TreeNode) { w.bundle.nodes = append(w.bundle.nodes, n) }

// link keeps a link to something of the folder. One that leads elsewhere in the play's
// folder stands for the file there; none leads out of that.
func (w *bundleWalk) link(name string) error {
	target, err := w.root.Readlink(path.Join(w.folder, name))
	if err != nil {
		return w.fault(name, err)
	}
	info, err := w.root.Stat(path.Join(w.folder, name))
	switch {
	case err != nil:
		return w.fault(name, fmt.Errorf("it links to %q: %w", target, unwrapPath(err)))
	case utf8.ValidString(target) && modules.ValidateTreeLink(name, target) == nil:
		w.add(modules.TreeNode{Path: name, Target: target})
		return nil
	case info.IsDir():
		return w.fault(name, fmt.Errorf("it links to the directory %q, which is outside of %s/", target, resourcesFolder))
	}
	return w.file(name)
}

// file adds a regular file. It is made executable if it is so here, and if it is a
// program: repositories often lose that bit.
func (w *bundleWalk) file(name string) error {
	full := path.Join(w.folder, name)
	f, size, err := w.open(full)
	if err != nil {
		return w.fault(name, err)
	}
	defer f.Close()
	if w.size += size; w.size > modules.MaxTreeSize {
		return fmt.Errorf("%s/: the files together have more than %d MiB", resourcesFolder, modules.MaxTreeSize>>20)
	}
	info, err := f.Stat()
	if err != nil {
		return w.fault(name, err)
	}
	head := make([]byte, len(elf))
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return w.fault(name, err)
	}
	content, err := w.content(full)
	if err != nil {
		return err
	}
	mode := fs.FileMode(ownerReads)
	if info.Mode()&0o111 != 0 || isProgram(head[:n]) {
		mode |= ownerRuns
	}
	if _, here := content.Bytes(); !here {
		w.bundle.files[content.SHA256()] = sourceFile{w.sources, full, content.Size()}
	}
	w.add(modules.TreeNode{Path: name, Mode: mode, Content: content})
	return nil
}

const ownerRuns = 0o100

// How programs begin: scripts, those of Linux and FreeBSD (ELF), of macOS (Mach-O of
// 64 bits, and several in one).
var (
	script = []byte("#!")
	elf    = []byte("\x7fELF")
	macho  = []byte("\xcf\xfa\xed\xfe")
	fat    = []byte("\xca\xfe\xba\xbe")
)

func isProgram(head []byte) bool {
	return slices.ContainsFunc([][]byte{script, elf, macho, fat}, func(magic []byte) bool { return bytes.HasPrefix(head, magic) })
}

// yaml is [modules.Source].YAML: what it is asked are files of the play, and the same
// for many hosts.
func (s *site) yaml(text []byte) (json.RawMessage, error) {
	type answer struct {
		json json.RawMessage
		err  error
	}
	a := s.remembered("YAML "+string(text), func() any {
		document, err := JSONOfYAML("", text)
		return answer{document, err}
	}).(answer)
	return a.json, a.err
}

// resourcesSource is [modules.Source.Resources] for a resource of a site.
func (s *site) resourcesSource(m *made) func() fs.FS {
	return func() fs.FS {
		b := s.bundled()
		if b == nil {
			return nil
		}
		m.bundle = b
		return b.look
	}
}

// bring notes that the host needs a folder resources/.
func (p *compilation) bring(b *bundle) {
	if b != nil && !slices.Contains(p.bundles, b) {
		p.bundles = append(p.bundles, b)
	}
}

// bundled puts the folders that the resources of a catalog asked for into it.
func (p *compilation) bundled() error {
	if len(p.bundles) == 0 {
		return nil
	}
	b, err := p.folders.union(p.bundles)
	if err != nil {
		return err
	}
	p.out.Catalog.Resources, p.out.Contents.bundle = b.listing.Hashed(), b
	return nil
}

// union lays the folders of a play and of the manifests that it applies over each
// other, once for all hosts. What is in several of them has to be the same.
func (f *folders) union(all []*bundle) (*bundle, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	var key string
	for _, one := range all {
		key += fmt.Sprintf("%p ", one)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.unions[key]; known != nil {
		return known, known.err
	}
	b := &bundle{files: map[string]sourceFile{}}
	nodes := map[string]modules.TreeNode{}
	for _, one := range all {
		maps.Copy(b.files, one.files)
		for _, n := range one.nodes {
			if other, there := nodes[n.Path]; there && !sameNode(other, n) {
				b.err = errors.Join(b.err, fmt.Errorf("%s/%s: the folders of two manifests of the play have different ones; give one of them another name", resourcesFolder, n.Path))
			}
			nodes[n.Path] = n
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(nodes), byElements) {
		b.nodes = append(b.nodes, nodes[name])
	}
	if b.err == nil {
		b.err = b.finish()
	}
	if f.unions == nil {
		f.unions = map[string]*bundle{}
	}
	f.unions[key] = b
	return b, b.err
}

// byElements orders paths so that a directory stands before what is in it.
func byElements(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

func sameNode(a, b modules.TreeNode) bool {
	return a.Mode == b.Mode && a.Target == b.Target && a.Content.SHA256() == b.Content.SHA256()
}

// Foresee has resources that look into the folder resources/ say what is wrong with
// them, as far as all that they are is literal and every host needs them: then it
// is known before any host is contacted.
func (c *Compiler) Foresee(ctx context.Context) error {
	f := foresight{p: &compilation{Compiler: c, out: &Compiled{}}}
	f.site(ctx, c.root)
	f.errs.Add(c.eachSite(c.root, func(s *site) { f.site(ctx, s) }))
	if len(f.errs) == 0 {
		f.errs.Add(f.p.bundled())
	}
	return manifest.Distinct(f.errs)
}

// foresight is what is known of a play without a host.
type foresight struct {
	p    *compilation // of no host: it holds the folders that every host needs
	errs yamlpos.Errors
}

func (f *foresight) site(ctx context.Context, s *site) {
	f.p.at = &nest{site: s, env: &templates.Env{Files: s.files}}
	for _, r := range s.play.Resources {
		if r.Unselected || !r.Unconditional() {
			continue
		}
		if _, brings := r.Type.New().(modules.Bringer); brings && s.bundled() != nil {
			if err := s.bundled().err; err != nil {
				f.errs.Add(r.Name.Node.Errorf("", "%v", err))
				continue
			}
			f.p.bring(s.bundled())
		}
		if r.Name.HasExpressions() || r.Properties.HasExpressions() || !looksAround(r) {
			continue
		}
		sensitive := r.Sensitive != nil && !r.Sensitive.HasExpressions() && f.p.boolean(ctx, r.Sensitive, f.p.at.env)
		what, err := f.p.encode(ctx, r, r.Name.Node.Text, r.Properties.Node, f.p.at.env, sensitive)
		if f.errs.Add(err); err == nil {
			f.p.bring(what.bundle)
		}
	}
}

// looksAround reports whether preparing a resource needs no host: what it has
// rendered or downloaded is not wanted yet, and what it applies is looked at
// by itself.
func looksAround(r *manifest.Resource) bool {
	res := r.Type.New()
	_, prepares := res.(modules.Preparer)
	_, renders := res.(modules.TreeRenderer)
	_, downloads := res.(modules.Downloader)
	_, nests := res.(modules.Nester)
	return prepares && !renders && !downloads && !nests
}

// has reports whether a content is of the folder.
func (b *bundle) has(digest string) bool {
	if b == nil {
		return false
	}
	_, text := b.texts[digest]
	_, file := b.files[digest]
	return text || file
}

// programs has the play take another folder in the place of resources/.
func (c *Compiler) programs(folder string) error {
	if folder == "" {
		return nil
	}
	from, err := c.folders.folder(folder)
	if err != nil {
		return err
	}
	c.root.bundled = sync.OnceValue(func() *bundle { return readBundle(from.sources, ".") })
	return nil
}
