package builds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IndexFile is the name of the file that lists the builds of a folder.
const IndexFile = "index.json"

// An Entry is the index entry of one build.
type Entry struct {
	OS               string `json:"os"`
	Arch             string `json:"arch"`
	Full             bool   `json:"full,omitempty"`
	ID               string `json:"id"`
	SHA256           string `json:"sha256"`            // SHA-256 of the program
	Size             int64  `json:"size"`              // size of the program, in bytes
	CompressedSize   int64  `json:"compressed_size"`   // size of the file, in bytes
	CompressedSHA256 string `json:"compressed_sha256"` // SHA-256 of the file
}

// File is the name of the file that holds the program.
func (e Entry) File() string {
	if e.Full {
		return fmt.Sprintf("ccm-module-full_%s_%s.gz", e.OS, e.Arch)
	}
	return fmt.Sprintf("ccm-module_%s_%s.gz", e.OS, e.Arch)
}

type index struct {
	Builds []Entry `json:"builds"`
}

// The characters that are allowed in the values of an entry; no value is empty. The values become file names, and
// arguments of the script that starts the program on a host.
const (
	platformRunes = "abcdefghijklmnopqrstuvwxyz0123456789"
	idRunes       = platformRunes + "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-"
)

func isDigest(s string) bool { return len(s) == 64 && isMadeOf(s, "0123456789abcdef") }

func isMadeOf(s, runes string) bool { return s != "" && strings.Trim(s, runes) == "" }

func (e Entry) validate() error {
	switch {
	case !isMadeOf(e.OS, platformRunes):
		return fmt.Errorf("%q is not an operating system", e.OS)
	case !isMadeOf(e.Arch, platformRunes):
		return fmt.Errorf("%q is not an architecture", e.Arch)
	case !isMadeOf(e.ID, idRunes):
		return fmt.Errorf("%s: %q is not a build id", e.File(), e.ID)
	case !isDigest(e.SHA256):
		return fmt.Errorf("%s: %q is not a SHA-256", e.File(), e.SHA256)
	case !isDigest(e.CompressedSHA256):
		return fmt.Errorf("%s: compressed_sha256 %q is not a SHA-256; build the folder again with modules/builds/gen", e.File(), e.CompressedSHA256)
	case e.Size <= 0 || e.CompressedSize <= 0:
		return fmt.Errorf("%s: sizes %d and %d are not both above zero", e.File(), e.Size, e.CompressedSize)
	}
	return nil
}

// ReadIndex reads the index of a folder.
func ReadIndex(dir fs.FS) ([]Entry, error) {
	b, err := fs.ReadFile(dir, IndexFile)
	if err != nil {
		return nil, err
	}
	entries, err := parseIndex(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", IndexFile, err)
	}
	return entries, nil
}

func parseIndex(b []byte) ([]Entry, error) {
	var x index
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	seen := make(map[string]bool)
	for _, e := range x.Builds {
		if err := e.validate(); err != nil {
			return nil, err
		}
		if seen[e.File()] {
			return nil, fmt.Errorf("%s is listed twice", e.File())
		}
		seen[e.File()] = true
	}
	return x.Builds, nil
}

// Write adds the file of b to the folder dir and returns its entry. A reader of the folder sees it once [WriteIndex]
// has listed it.
func (b Build) Write(dir string) (Entry, error) {
	e := Entry{
		OS: b.OS, Arch: b.Arch, Full: b.Full, ID: b.ID, SHA256: b.SHA256, Size: b.Size,
		CompressedSize: b.CompressedSize, CompressedSHA256: b.CompressedSHA256,
	}
	compressed, err := b.Compressed()
	if err != nil {
		return e, err
	}
	return e, replace(filepath.Join(dir, e.File()), compressed)
}

// WriteIndex writes the index of the folder dir.
func WriteIndex(dir string, entries []Entry) error {
	b, err := json.MarshalIndent(index{entries}, "", "  ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, IndexFile), append(b, '\n'))
}

// replace writes a file that is never seen half written.
func replace(path string, b []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, b, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
