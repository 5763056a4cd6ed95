package catalog

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Some files in a folder resources/ are not programs: files of git, and files that editors keep next to open ones. They
// are ignored unless a manifest or a link of the folder names them.

// isIgnored reports whether things of that name stay here.
func isIgnored(base string) bool {
	return base == ".git" || strings.HasSuffix(base, "~") || strings.HasPrefix(base, ".#") || strings.HasSuffix(base, ".swp")
}

// An ignored thing stays on the controller unless something names it.
type ignored struct {
	name  string
	kind  fs.FileMode
	depth int
}

// addNamed adds the ignored files that are named, until it finds no more: an added file may name others.
func (w *bundleWalk) addNamed() error {
	for searched := 0; len(w.ignored) > 0 && searched < len(w.bundle.nodes); {
		news := w.bundle.nodes[searched:]
		searched = len(w.bundle.nodes)
		for _, n := range news {
			text, err := w.names(n)
			if err != nil {
				return err
			}
			if len(text) == 0 {
				continue // it names nothing
			}
			if err := w.addIgnored(text); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(w.bundle.nodes, func(a, b modules.TreeNode) int { return byElements(a.Path, b.Path) })
	return nil
}

// addIgnored adds the ignored files that a text names.
func (w *bundleWalk) addIgnored(text []byte) error {
	rest := w.ignored
	w.ignored = nil
	for _, l := range rest {
		if !mentions(text, path.Base(l.name)) {
			w.ignored = append(w.ignored, l)
		} else if err := w.entry(l.name, l.kind, l.depth); err != nil {
			return err
		}
	}
	return nil
}

// names returns the text in which a node may name others: a manifest, or the target of a link.
func (w *bundleWalk) names(n modules.TreeNode) ([]byte, error) {
	if n.Target != "" {
		return []byte(n.Target), nil
	}
	switch strings.ToLower(path.Ext(n.Path)) {
	case ".json", ".yaml", ".yml":
	default:
		return nil, nil
	}
	f, size, err := w.sources.open(path.Join(w.folder, n.Path))
	if err != nil {
		return nil, nil // a directory that is called so
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, size))
	if err != nil {
		return nil, w.fault(n.Path, err)
	}
	return text, nil
}

// mentions reports whether text has name as a whole word, not as a part of a longer one.
func mentions(text []byte, name string) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !ofName(text[from-1])) && (to == len(text) || !ofName(text[to])) {
			return true
		}
		at = from + 1
	}
}

// ofName reports whether a byte may be part of the name of a file.
func ofName(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("._-~#", b) >= 0 || b >= 0x80
}

// withoutIgnored is a folder without its ignored files: types see the same on the controller as on a host.
type withoutIgnored struct {
	fs.FS
	ignored map[string]bool
}

func hideIgnored(folder fs.FS, all []ignored) withoutIgnored {
	l := withoutIgnored{folder, map[string]bool{}}
	for _, one := range all {
		l.ignored[one.name] = true
	}
	return l
}

// hidden returns the error for a path that is ignored, or is below an ignored one.
func (l withoutIgnored) hidden(op, name string) error {
	if !fs.ValidPath(name) {
		return nil // for the folder to refuse
	}
	for at := name; at != "."; at = path.Dir(at) {
		if l.ignored[at] {
			return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return nil
}

// Open implements [fs.FS].
func (l withoutIgnored) Open(name string) (fs.File, error) {
	if err := l.hidden("open", name); err != nil {
		return nil, err
	}
	return l.FS.Open(name)
}

// Stat implements [fs.StatFS].
func (l withoutIgnored) Stat(name string) (fs.FileInfo, error) {
	if err := l.hidden("stat", name); err != nil {
		return nil, err
	}
	return fs.Stat(l.FS, name)
}

// ReadDir implements [fs.ReadDirFS].
func (l withoutIgnored) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := l.hidden("open", name); err != nil {
		return nil, err
	}
	all, err := fs.ReadDir(l.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return l.ignored[path.Join(name, e.Name())] }), err
}
