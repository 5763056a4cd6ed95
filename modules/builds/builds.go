// Package builds contains the host programs that a controller can send: two builds of cmd/ccm-module per operating
// system and architecture. The lean one is for nearly every host; the full one (build tag "full") also has parts for
// types that implement modules.Requirer. Both are built from the same sources and have one id.
//
// `make` cross-compiles them into the folder bin, from where they are embedded. A controller that was built without
// them needs a folder with the same layout, see [Load].
package builds

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

//go:embed all:bin
var embedded embed.FS

// A Build is one host program.
type Build struct {
	OS     string // GOOS
	Arch   string // GOARCH
	Full   bool   // includes the parts that the lean program omits
	ID     string // id that the program reports; equal sources have equal ids
	SHA256 string // SHA-256 of the program, in lower-case hex
	Size   int64  // size of the program, in bytes
	// Compressed returns the program as one gzip member: CompressedSize bytes with the SHA-256 CompressedSHA256, in
	// lower-case hex. It is a function since all programs together are too large to hold in memory.
	Compressed       func() ([]byte, error)
	CompressedSize   int64
	CompressedSHA256 string
}

// WithCompressed is the build with its program in gzip.
func (b Build) WithCompressed(packed []byte) Build {
	sum := sha256.Sum256(packed)
	b.Compressed = func() ([]byte, error) { return packed, nil }
	b.CompressedSize, b.CompressedSHA256 = int64(len(packed)), hex.EncodeToString(sum[:])
	return b
}

// Embedded returns the builds that are embedded in this program. It is empty if the program was built without `make`.
func Embedded() ([]Build, error) {
	list, err := readUnder(embedded, "bin")
	if err != nil {
		return nil, fmt.Errorf("embedded host programs: %w", err)
	}
	return list, nil
}

// readUnder is read for a folder that may have no index yet.
func readUnder(fsys fs.FS, dir string) ([]Build, error) {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(sub, IndexFile); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return read(sub)
}

// Load reads the builds of a folder that modules/builds/gen has filled.
func Load(dir string) ([]Build, error) {
	list, err := read(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("host programs in %s: %w", dir, err)
	}
	return list, nil
}

// read reads the builds of a folder. It compares sizes with the index; [Build.Program] checks hashes, and so does the
// host, which verifies all it receives.
func read(dir fs.FS) ([]Build, error) {
	entries, err := ReadIndex(dir)
	if err != nil {
		return nil, err
	}
	list := make([]Build, len(entries))
	for i, e := range entries {
		info, err := fs.Stat(dir, e.File())
		if err != nil {
			return nil, err
		}
		if info.Size() != e.CompressedSize {
			return nil, fmt.Errorf("%s has %d bytes, but %s records %d", e.File(), info.Size(), IndexFile, e.CompressedSize)
		}
		list[i] = Build{
			OS: e.OS, Arch: e.Arch, Full: e.Full, ID: e.ID, SHA256: e.SHA256, Size: e.Size,
			CompressedSize: e.CompressedSize, CompressedSHA256: e.CompressedSHA256,
			Compressed: sync.OnceValues(func() ([]byte, error) { return fs.ReadFile(dir, e.File()) }),
		}
	}
	return list, nil
}

// String names the build in errors.
func (b Build) String() string {
	if b.Full {
		return fmt.Sprintf("full host program %s/%s", b.OS, b.Arch)
	}
	return fmt.Sprintf("host program %s/%s", b.OS, b.Arch)
}

// Program unpacks the program and verifies its size and hash.
func (b Build) Program() ([]byte, error) {
	compressed, err := b.Compressed()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	// One more byte than expected reveals a longer program.
	program, err := io.ReadAll(io.LimitReader(zr, b.Size+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	if int64(len(program)) != b.Size {
		return nil, fmt.Errorf("%s does not have the %d bytes that the index records", b, b.Size)
	}
	if sum := sha256.Sum256(program); hex.EncodeToString(sum[:]) != b.SHA256 {
		return nil, fmt.Errorf("%s has SHA-256 %x, but the index records %s", b, sum, b.SHA256)
	}
	return program, nil
}
