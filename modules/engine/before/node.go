package before

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// A Node is the state of a path.
type Node struct {
	Path string `json:"path"`
	// Place is the path without the symbolic links of its directories, if that differs.
	Place  string           `json:"place,omitempty"`
	Kind   modules.FileKind `json:"kind"`
	Mode   fs.FileMode      `json:"mode,omitempty"`
	UID    int              `json:"uid,omitempty"`
	GID    int              `json:"gid,omitempty"`
	Target string           `json:"target,omitempty"` // target of a symbolic link
	SHA256 string           `json:"sha256,omitempty"` // hash of a regular file
	Size   int64            `json:"size,omitempty"`   // size of a regular file, in bytes
	// Written is the modification time in Unix ns, in place of a hash: for a file with more than MaxContent bytes, or
	// if only owner and mode are kept.
	Written int64 `json:"written,omitempty"`
	// Xattrs are the extended attributes of a regular file or a directory (see [modules.Files]);
	// nil if they are not known.
	Xattrs []string `json:"xattrs,omitzero"`
	// Lost is the reason why it cannot be put back.
	Lost string `json:"lost,omitempty"`
	// Account holds the account of a name. If it is set, only Path and Kind are set too.
	Account *accounts.Record `json:"account,omitempty"`
}

// MarshalJSON implements [json.Marshaler]. Names that are not UTF-8 keep their bytes.
func (n Node) MarshalJSON() ([]byte, error) {
	type plain Node
	for _, s := range []*string{&n.Path, &n.Place, &n.Target} {
		if !utf8.ValidString(*s) {
			*s = inHex + hex.EncodeToString([]byte(*s))
		}
	}
	return json.Marshal(plain(n))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Node) UnmarshalJSON(text []byte) error {
	type plain Node
	if err := json.Unmarshal(text, (*plain)(n)); err != nil {
		return err
	}
	for _, s := range []*string{&n.Path, &n.Place, &n.Target} {
		if digits, ok := strings.CutPrefix(*s, inHex); ok {
			name, err := hex.DecodeString(digits)
			if err != nil {
				return err
			}
			*s = string(name)
		}
	}
	return nil
}

// inHex begins a name in hexadecimal digits. No path has it.
const inHex = "\x00"

// Place returns a path without the symbolic links of its existing directories.
func Place(files modules.FileReader, name string) string {
	rest := path.Base(name)
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if at, _, err := modules.Resolve(files, dir); err == nil {
			return path.Join(at, rest)
		}
		if dir == "/" {
			return name
		}
		rest = path.Join(path.Base(dir), rest)
	}
}

// Contents keep bytes by their hash. They may be used by many goroutines at once.
type Contents interface {
	// Put keeps the bytes of r, and returns their hash and number. They can be opened once they have been recorded (see
	// [Keeper.Note]).
	Put(r io.Reader) (sha256 string, size int64, err error)
	// Open returns the bytes with a hash.
	Open(sha256 string) (io.ReadCloser, error)
}

// MaxContent limits the bytes that are kept of a file: 16 MiB.
const MaxContent = 16 << 20

// look describes a path, without the content of a file. A missing path is [modules.Absent].
func look(files modules.Files, name string) (Node, error) {
	at, err := files.Stat(name)
	switch {
	case modules.NotThere(err):
		return Node{Path: name, Kind: modules.Absent}, nil
	case err != nil:
		return Node{}, err
	}
	if at.Kind == modules.Symlink {
		return Node{Path: name, Kind: at.Kind, Target: at.Target}, nil // its owner and mode mean nothing
	}
	n := Node{Path: name, Kind: at.Kind, Mode: at.Mode, UID: at.UID, GID: at.GID}
	if at.Kind == modules.Regular {
		n.Size = at.Size
	}
	if at.Kind != modules.Special && files.Xattrs != nil {
		n.Xattrs, err = files.Xattrs(name, at)
	}
	if len(strings.Join(n.Xattrs, "")) > maxXattrs {
		err = modules.Refuse("%s has too many extended attributes", name)
	}
	return n, err
}

// maxXattrs bounds the extended attributes of a path, in bytes of the log: 64 KiB of values.
const maxXattrs = 128 << 10

// lookInto describes a path and what a file holds, or when it was written.
func lookInto(files modules.Files, name string, written bool) (Node, error) {
	n, err := look(files, name)
	if err != nil || n.Kind != modules.Regular {
		return n, err
	}
	if written || n.Size > MaxContent {
		return n, n.written(files)
	}
	n.SHA256, err = files.Digest(name)
	if modules.NotThere(err) { // its content is only predicted, and unknown
		n.SHA256, err = "", nil
	}
	return n, err
}

// written sets the modification time in place of the hash, which takes long for a large file.
func (n *Node) written(files modules.FileReader) error {
	at, err := files.ModTime(n.Path)
	n.Written = at.UnixNano()
	return err
}

// info is the node as it is predicted.
func (n *Node) info() modules.FileInfo {
	info := modules.FileInfo{Kind: n.Kind, Mode: n.Mode, UID: n.UID, GID: n.GID, Target: n.Target}
	if n.Kind == modules.Regular {
		info.Size, info.Links = n.Size, 1
	}
	return info
}

// runsAsOwner reports whether the node is a file that runs as its owner or its group, or with capabilities, for any
// caller.
func (n *Node) runsAsOwner() bool {
	return n.Kind == modules.Regular && (n.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 ||
		modules.HasXattr(n.Xattrs, modules.Capability))
}

// bare reports whether it is not kept what a file held, of which a run has changed no more than
// owner, group and mode.
func (n *Node) bare() bool { return n.Written != 0 && n.Size <= MaxContent }

// content returns the content of a regular file.
func (n *Node) content() modules.Content { return modules.HashedContent(n.SHA256, n.Size) }
