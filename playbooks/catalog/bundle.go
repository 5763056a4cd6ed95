package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// resourcesFolder is the folder next to a manifest with the programs that it brings along.
const resourcesFolder = "resources"

// A bundle is a folder resources/ as hosts receive it: read and hashed once per run. The work per host does not grow
// with it.
type bundle struct {
	nodes   []modules.TreeNode
	listing modules.Content // the tree as JSON
	texts   map[string][]byte
	files   map[string]sourceFile
	look    fs.FS // view of the folder for types on the controller
	err     error // why it cannot be sent
}

// readBundle reads the folder of that name. If a folder cannot be sent, the bundle holds the error, and each resource
// that needs the folder reports it.
func readBundle(from *sources, folder string) *bundle {
	if _, err := from.root.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w := bundleWalk{sources: from, folder: folder, bundle: &bundle{files: map[string]sourceFile{}}}
	err := w.directory("", 0)
	if err == nil && len(w.ignored) > 0 {
		err = w.addNamed()
	}
	if err == nil {
		err = w.bundle.finish()
	}
	if err != nil {
		return &bundle{err: err, look: unreadable{err}}
	}
	w.bundle.look, w.bundle.err = fs.Sub(from.root.FS(), folder)
	if len(w.ignored) > 0 {
		w.bundle.look = hideIgnored(w.bundle.look, w.ignored)
	}
	return w.bundle
}

// finish makes the listing of the nodes found.
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

// withBundle adds a folder resources/, unless it is nil or there already.
func withBundle(all []*bundle, b *bundle) []*bundle {
	if b == nil || slices.Contains(all, b) {
		return all
	}
	return append(all, b)
}

// union merges the folders resources/ of a play and of the manifests that it applies, once for all hosts; nil without
// any. A path that is in several of them must be the same in all.
func (s *loadedManifests) union(all []*bundle) (*bundle, error) {
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	var key string
	for _, one := range all {
		key += fmt.Sprintf("%p ", one)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.unions[key]; known != nil {
		return known, known.err
	}
	b := &bundle{files: map[string]sourceFile{}}
	nodes := map[string]modules.TreeNode{}
	for _, one := range all {
		maps.Copy(b.files, one.files)
		for _, n := range one.nodes {
			if other, there := nodes[n.Path]; there && !sameNode(other, n) {
				b.err = errors.Join(b.err, fmt.Errorf("%s/%s: two manifests of the play have different files with this name; rename one of them", resourcesFolder, n.Path))
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
	s.unions[key] = b
	return b, b.err
}

// byElements orders paths so that a directory is before its contents.
func byElements(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

func sameNode(a, b modules.TreeNode) bool {
	return a.Mode == b.Mode && a.Target == b.Target && a.Content.SHA256() == b.Content.SHA256()
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
