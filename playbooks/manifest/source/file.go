package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A File is a file of YAML, on disk or unpacked from an archive.
type File struct {
	Path    string      // where it can be read
	Archive ArchiveRoot // root of a file from an archive; the zero ArchiveRoot for others
	// Root is the folder that holds a copy of the operator's files on another machine: absolute names are
	// below it, and nothing else is read. "" is the root of the file system.
	Root string
}

// Name returns the file's name in errors and reports.
func (f File) Name() string { return f.Archive.ShownPath(f.Path) }

// Folder returns the folder to which the names in the file are relative.
func (f File) Folder() string { return filepath.Dir(f.Path) }

// Title is the name of the file without folders and extension.
func (f File) Title() string {
	base := filepath.Base(f.Path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Resolve returns the file of a name, which may be relative to the folder of f. The name of a folder means the
// manifest.yaml in it. [File.CheckInside] checks whether f may name the file.
func (f File) Resolve(name string) File {
	switch {
	case !filepath.IsAbs(name):
		name = filepath.Join(f.Folder(), name)
	case f.Root != "" && f.Archive == (ArchiveRoot{}) && !isBelow(f.Root, name):
		name = filepath.Join(f.Root, name)
	}
	if f.CheckInside(&yamlpos.Node{}, File{Path: name}) == nil {
		name = manifestIn(name)
	}
	return File{Path: name, Archive: f.Archive, Root: f.Root}
}

// CheckInside returns an error if a file is outside of the archive of f, or outside of its root; at names the file.
func (f File) CheckInside(at *yamlpos.Node, other File) error {
	inArchive := f.Archive != (ArchiveRoot{})
	switch {
	case inArchive && f.Archive.Contains(other.Path), !inArchive && (f.Root == "" || isBelow(f.Root, other.Path)):
		return nil
	case !inArchive:
		return at.Errorf("", "%q is outside the files that the coordinator sent", at.Text)
	}
	return at.Errorf("an archive must contain all files that its manifests use", "%q is outside the archive %s", at.Text, f.Archive.Shown)
}

// Documents reads the YAML file that at names. kind is the expected kind of file, for errors, which have positions;
// options are the options of [yamlpos.Parse].
func (f File) Documents(ctx context.Context, at *yamlpos.Node, kind string, options ...yamlpos.ParseOption) ([]*yamlpos.Node, error) {
	other := f.Resolve(at.Text)
	if err := f.CheckInside(at, other); err != nil {
		return nil, err
	}
	if info, err := os.Stat(other.Path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, at.Errorf("", "%s is a device, socket or pipe, not a %s", other.Name(), kind)
	}
	data, err := read(ctx, other.Path, kind)
	if err != nil {
		return nil, at.Errorf("", "%v", err)
	}
	return yamlpos.Parse(other.Name(), data, options...)
}

// manifestIn returns the manifest.yaml in a folder; any other path unchanged.
func manifestIn(path string) string {
	inside := filepath.Join(path, ManifestFile)
	if info, err := os.Stat(inside); err == nil && info.Mode().IsRegular() {
		return inside
	}
	return path
}

// read reads a file or a pipe until ctx ends. Errors have a hint with the expected kind of file, kind.
func read(ctx context.Context, path, kind string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if kind == "file" {
			return nil, fmt.Errorf("cannot read %s: no such file%s", path, didYouMean(path))
		}
		return nil, fmt.Errorf("unknown %s %s%s", kind, path, didYouMean(path))
	case err != nil:
		return nil, fmt.Errorf("reading a %s: %w", kind, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s: is a directory; give the %s in it, such as %s", path, kind, filepath.Join(path, "site.yaml"))
	}
	data, err := yamlpos.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading a %s: %w", kind, err)
	}
	return data, nil
}

// didYouMean suggests an existing file next to a missing path: site.yaml for site.yml.
func didYouMean(path string) string {
	const most = 1000 // names; a hint is not worth more
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(most) // some are better than none
	slices.Sort(names)
	if name := yamlpos.Suggest(filepath.Base(path), names); name != "" {
		return fmt.Sprintf("; did you mean %s?", filepath.Join(filepath.Dir(path), name))
	}
	return ""
}
