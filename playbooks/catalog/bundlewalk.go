package catalog

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
)

// A bundleWalk goes through a folder resources/.
type bundleWalk struct {
	sources *sources
	folder  string
	bundle  *bundle
	size    int64 // total size of the files, in bytes
	ignored []ignored
}

// fault returns err as the error of a path of the folder.
func (w *bundleWalk) fault(name string, err error) error {
	return fmt.Errorf("%s: %w", path.Join(resourcesFolder, name), unwrapPath(err))
}

// directory adds the contents of a directory, after the directory itself. The folder itself may be a link.
func (w *bundleWalk) directory(name string, depth int) error {
	if depth > modules.MaxTreeDepth {
		return w.fault(name, fmt.Errorf("is more than %d directories deep", modules.MaxTreeDepth))
	}
	w.sources.note(path.Join(w.folder, name))
	dir, err := w.sources.root.Open(path.Join(w.folder, name) + "/.") // of anything else, a pipe say, that fails at once
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
		if isIgnored(e.Name()) {
			w.ignored = append(w.ignored, ignored{path.Join(name, e.Name()), e.Type(), depth + 1})
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
	target, err := w.sources.root.Readlink(path.Join(w.folder, name))
	if err != nil {
		return w.fault(name, err)
	}
	info, err := w.sources.root.Stat(path.Join(w.folder, name))
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
	f, size, err := w.sources.open(full)
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
	content, err := w.sources.content(full)
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

// First bytes of programs: scripts, programs of Linux and FreeBSD (ELF), and of macOS (Mach-O of 64 bits, and several
// in one).
var (
	script = []byte("#!")
	elf    = []byte("\x7fELF")
	macho  = []byte("\xcf\xfa\xed\xfe")
	fat    = []byte("\xca\xfe\xba\xbe")
)

func isProgram(head []byte) bool {
	return slices.ContainsFunc([][]byte{script, elf, macho, fat}, func(magic []byte) bool { return bytes.HasPrefix(head, magic) })
}
