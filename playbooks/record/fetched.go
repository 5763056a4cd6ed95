package record

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Folders of a run with files of hosts. Files of sensitive resources are in a separate one.
const (
	fetchedFolder   = "fetched"
	sensitiveFolder = "fetched-sensitive"
)

// Fetched are the files of hosts that a run brings into its folder. It is used by many goroutines.
type Fetched struct {
	folder string // folder of the run
	begun  atomic.Int64
	kept   atomic.Int64
}

// Fetched returns the fetched files of a run.
func (s Store) Fetched(run string) *Fetched { return &Fetched{folder: s.FolderOf(run)} }

// Count returns how many files have been kept so far.
func (f *Fetched) Count() int { return int(f.kept.Load()) }

// Place returns the path for the file of a host at an absolute path.
func (f *Fetched) Place(host, name string, sensitive bool) string {
	return filepath.Join(f.folder, fetchedAt(host, name, sensitive))
}

// fetchedAt returns that path in the folder of the run. Names of hosts and files are untrusted: they cannot lead out of
// the folder.
func fetchedAt(host, name string, sensitive bool) string {
	at := []string{fetchedFolder, element(host)}
	if sensitive {
		at[0] = sensitiveFolder
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path.Clean("/"+name), "/"), "/") {
		at = append(at, element(part))
	}
	return filepath.Join(at...)
}

// element converts any text to a file name: special characters are written as %XX.
func element(text string) string {
	if text == "" || text == "." || text == ".." {
		return "%" + strings.Repeat("2E", len(text))
	}
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c == 0x7f, strings.IndexByte(`%/\:`, c) >= 0:
			const digits = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&0xf])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A FetchedFile is one on its way. It has its name once it is whole.
type FetchedFile struct {
	*os.File
	of       *Fetched
	root     *os.Root
	at, part string
}

// Create begins the file of a host. It takes the place of one that the run has brought before.
func (f *Fetched) Create(host, name string, sensitive bool) (*FetchedFile, error) {
	root, err := os.OpenRoot(f.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this run has no record that could store the file")
	}
	if err != nil {
		return nil, err
	}
	at := fetchedAt(host, name, sensitive)
	part := filepath.Join(filepath.Dir(at), "%part"+strconv.FormatInt(f.begun.Add(1), 10))
	err = root.MkdirAll(filepath.Dir(at), 0o700)
	var file *os.File
	if err == nil {
		file, err = root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &FetchedFile{file, f, root, at, part}, nil
}

// Keep renames the file to its final name.
func (f *FetchedFile) Keep() error {
	err := f.File.Close()
	if err == nil {
		err = f.root.Rename(f.part, f.at)
	}
	if err != nil {
		f.root.Remove(f.part) // the error is more informative
	} else {
		f.of.kept.Add(1)
	}
	f.root.Close()
	return err
}

// Drop removes it.
func (f *FetchedFile) Drop() {
	f.File.Close()
	f.root.Remove(f.part) // leftovers are removed with the run
	f.root.Close()
}
