package source

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// An Origin is where a manifest is read from: a file, an archive on disk, or an archive
// behind a URL.
type Origin struct {
	Name string // name of the manifest in errors
	Key  string // the same for the same nested manifest, and for no other

	file    File    // its Path is "" if the manifest is in an archive, which is not unpacked yet
	archive Archive // if file.Path is ""
}

// FindManifest finds a manifest that the command line names.
func FindManifest(path string) (Origin, error) {
	switch {
	case IsURL(path):
		archive, err := ParseURL(path)
		if err != nil {
			return Origin{}, err
		}
		return Origin{Name: archive.name() + "/" + ManifestFile, archive: archive}, nil
	case IsArchive(path):
		return Origin{Name: filepath.Join(path, ManifestFile), archive: Archive{Path: path}}, nil
	}
	path = manifestIn(path)
	return Origin{Name: path, file: File{Path: path}}, nil
}

// Path is the file that the manifest is read from, or its archive; "" if that is on the web, or in an
// archive itself.
func (o Origin) Path() string {
	switch {
	case o.file.Archive != (ArchiveRoot{}):
		return ""
	case o.file.Path != "":
		return o.file.Path
	}
	return o.archive.Path
}

// Nested finds a manifest that f applies. at is the place that names it, checksum is the checksum of its archive or "".
func (f File) Nested(at *yamlpos.Node, manifest, checksum string) (Origin, error) {
	if IsURL(manifest) {
		page, err := ParsePage(manifest)
		if err != nil {
			return Origin{}, at.Errorf("", "%v", err)
		}
		return Origin{
			Key: manifest + " " + checksum, Name: page.String() + "/" + ManifestFile,
			archive: Archive{Page: &page, Checksum: checksum},
		}, nil
	}
	other := f.Resolve(manifest)
	if err := f.CheckInside(at, other); err != nil {
		return Origin{}, err
	}
	if !IsArchive(other.Path) {
		return Origin{Key: other.Path, Name: other.Name(), file: other}, nil
	}
	return Origin{
		Key: other.Path + " " + checksum, Name: other.Name() + "/" + ManifestFile,
		archive: Archive{Path: other.Path, Checksum: checksum},
	}, nil
}

// SendsPasswordInTheClear reports whether others on the way can read the password of the
// URL that the manifest is downloaded from.
func (o Origin) SendsPasswordInTheClear() bool {
	return o.archive.Page != nil && o.archive.Page.InTheClear()
}

// Read returns the manifest and its text. archives unpacks it if it is in an archive; nil unpacks none.
func (o Origin) Read(ctx context.Context, archives *Unpacker) (File, []byte, error) {
	f := o.file
	if f.Path == "" {
		if archives == nil {
			return f, nil, errors.New("archives are not unpacked here")
		}
		folder, err := archives.Unpack(ctx, o.archive)
		if err != nil {
			return f, nil, err
		}
		f.Path = filepath.Join(folder, ManifestFile)
		f.Archive = ArchiveRoot{Folder: folder, Shown: strings.TrimSuffix(o.Name, "/"+ManifestFile)}
	}
	data, err := read(ctx, f.Path, "manifest")
	return f, data, err
}

// ReadHint returns a hint for an error of [Origin.Read]; "" if none is known.
func ReadHint(err error) string {
	if _, changed := errors.AsType[*ChecksumError](err); changed {
		return "the file has changed: inspect it before you update the checksum"
	}
	return ""
}
