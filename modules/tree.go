package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Bounds of a [Tree].
const (
	MaxTreeNodes = 10_000
	MaxTreeDepth = 64       // elements of a path
	MaxTreeSize  = 48 << 20 // bytes of all files together
)

// TreeUse describes the rendered folder of a resource.
type TreeUse struct {
	Request TreeRequest // without Data
	From    []string    // the properties that Request is made of
	Data    string      // the property that takes the place of the data, if it is given; "" if none does
}

// TreeRequest requests the rendered files of a folder of templates.
type TreeRequest struct {
	Source      string // the folder, relative to the manifest
	Engine      string // jet, go, or none
	Left, Right string // delimiters; both empty means the engine's
	SkipEmpty   bool   // skip files of white space only
	// Data takes the place of the play's data, unless it is empty.
	Data map[string]any
}

// Tree holds the rendered files of a folder of templates for one host: directories before their contents, otherwise in
// the order of their paths.
type Tree struct {
	Mode  fs.FileMode `json:"mode"` // permission bits of the folder itself
	Nodes []TreeNode  `json:"nodes,omitempty"`
}

// A TreeNode is one path of a tree: a link if Target is given, a file if Content
// is, else a directory.
type TreeNode struct {
	Path    string      `json:"path"`           // below the folder, with slashes, clean
	Mode    fs.FileMode `json:"mode,omitempty"` // permission bits only; of links 0
	Content Content     `json:"content,omitzero"`
	Target  string      `json:"target,omitempty"` // where a link leads, stored as it is
}

// Kind is Directory, Regular or Symlink.
func (n *TreeNode) Kind() FileKind {
	switch {
	case n.Target != "":
		return Symlink
	case !n.Content.IsZero():
		return Regular
	}
	return Directory
}

// Validate reports a tree that is not what the comments above say, or that a path
// or a link leads out of.
func (t *Tree) Validate() error {
	if len(t.Nodes) > MaxTreeNodes {
		return fmt.Errorf("there are more than %d files, directories and links", MaxTreeNodes)
	}
	if t.Mode&^fs.ModePerm != 0 {
		return fmt.Errorf("the folder has mode %v, which is more than permissions", t.Mode)
	}
	kinds := make(map[string]FileKind, len(t.Nodes))
	size := int64(0)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if err := n.validate(); err != nil {
			return err
		}
		if dir := path.Dir(n.Path); dir != "." && kinds[dir] != Directory {
			return fmt.Errorf("%q is in no directory of the tree", n.Path)
		}
		if kinds[n.Path] != "" {
			return fmt.Errorf("%q is there twice", n.Path)
		}
		kinds[n.Path] = n.Kind()
		if size += n.Content.Size(); size > MaxTreeSize {
			return fmt.Errorf("the files together have more than %d MiB", MaxTreeSize>>20)
		}
	}
	return nil
}

func (n *TreeNode) validate() error {
	err := ValidateTreePath(n.Path)
	switch {
	case err != nil:
		return err
	case n.Mode&^fs.ModePerm != 0:
		return fmt.Errorf("%q has mode %v, which is more than permissions", n.Path, n.Mode)
	case n.Target != "":
		return ValidateTreeLink(n.Path, n.Target)
	}
	return nil
}

// ValidateTreePath reports a path that is not one below a folder: clean, not
// absolute, without elements that lead up.
func ValidateTreePath(name string) error {
	switch {
	case name == "" || name == ".":
		return errors.New("the path is empty")
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("%q has a NUL byte", name)
	case path.IsAbs(name):
		return fmt.Errorf("%q is an absolute path; write one below the directory", name)
	case path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("%q is not a clean path below the directory", name)
	case strings.Count(name, "/") >= MaxTreeDepth:
		return fmt.Errorf("%q is more than %d directories deep", name, MaxTreeDepth)
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			return fmt.Errorf("%q has an element of more than %d bytes", name, maxElement)
		}
	}
	return nil
}

// maxElement is the longest name that file systems take, in bytes.
const maxElement = 255

// ValidateTreeLink reports a link of a tree whose target leads out of it. Only
// leading elements may lead up: what follows another link may be anywhere.
func ValidateTreeLink(name, target string) error {
	up, rest := 0, target
	for rest == ".." || strings.HasPrefix(rest, "../") {
		up, rest = up+1, strings.TrimPrefix(rest[len(".."):], "/")
	}
	switch {
	case strings.ContainsRune(target, 0):
		return fmt.Errorf("%q links to a path with a NUL byte", name)
	case path.IsAbs(target) || path.IsAbs(rest) || up > strings.Count(name, "/"):
		return fmt.Errorf("%q links to %q, which is outside of the tree", name, target)
	}
	for element := range strings.SplitSeq(rest, "/") {
		if element == ".." {
			return fmt.Errorf("%q links to %q: .. is allowed only at the beginning", name, target)
		}
	}
	return nil
}
