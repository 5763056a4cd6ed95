package source

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ManifestFile is the manifest in a folder or an archive, as CCM calls it.
const ManifestFile = "manifest.yaml"

// Bounds of an archive.
const (
	maxFiles = 10_000
	maxSize  = 256 << 20 // bytes, unpacked
)

// IsArchive reports whether a path names an archive of a manifest and its files.
func IsArchive(path string) bool {
	return strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz")
}

// unpackAll unpacks the archive in r; name is its name in errors.
func unpackAll(r io.Reader, name, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := unpack(r, root); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := root.Stat(ManifestFile); err != nil {
		return noManifest(root, name)
	}
	return nil
}

// noManifest returns the error of an archive without a manifest at its top. Many archives have one folder that contains
// everything.
func noManifest(root *os.Root, archive string) error {
	top, _ := fs.ReadDir(root.FS(), ".")
	if len(top) == 1 {
		at := path.Join(top[0].Name(), ManifestFile)
		if _, err := root.Stat(at); err == nil {
			return fmt.Errorf("the archive %s does not contain %s, but %q: pack the files without the folder around them (tar -czf ARCHIVE -C %q .)",
				archive, ManifestFile, at, top[0].Name())
		}
	}
	return fmt.Errorf("%s does not contain %s", archive, ManifestFile)
}

func unpack(r io.Reader, root *os.Root) error {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	entries := tar.NewReader(io.LimitReader(zipped, maxSize+1))
	size := int64(0)
	for n := 0; ; n++ {
		header, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n == maxFiles:
			return fmt.Errorf("more than %d files", maxFiles)
		}
		if size += header.Size; size > maxSize {
			return fmt.Errorf("more than %d MiB", maxSize>>20)
		}
		if err := unpackOne(header, entries, root); err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
	}
}

func unpackOne(header *tar.Header, content io.Reader, root *os.Root) error {
	name := filepath.FromSlash(strings.TrimPrefix(header.Name, "./"))
	switch {
	case header.Typeflag == tar.TypeXGlobalHeader, name == "", name == ".":
		return nil
	case !filepath.IsLocal(name):
		return errors.New("the name points outside the archive")
	case header.Typeflag == tar.TypeDir:
		return root.MkdirAll(filepath.Clean(name), 0o700)
	case header.Typeflag != tar.TypeReg:
		return errors.New("neither a file nor a folder")
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
