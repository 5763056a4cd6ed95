package manifest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/archive"
	"github.com/ccm-push/ccm-push/playbooks/webpage"
)

// An origin is where a manifest comes from.
type origin struct {
	key      string // the same for the same manifest, if it is nested
	file     string // the manifest; "" if it is in an archive, until that is unpacked
	shown    string // how positions call it
	confined archive.Enclosure
	archive  archive.Source // if file is ""
}

// origin finds out where a manifest comes from.
func (l *loader) origin(at *yamlpos.Node, nest modules.Nest) (*origin, error) {
	if archive.IsURL(nest.Manifest) {
		page, err := webpage.Parse(nest.Manifest)
		if err != nil {
			return nil, at.Errorf("", "%v", err)
		}
		if page.InTheClear() {
			l.warn(at, "the password goes there unencrypted; use https://")
		}
		return &origin{
			key:     nest.Manifest + " " + nest.Checksum,
			shown:   page.String() + "/" + archive.ManifestFile,
			archive: archive.Source{Page: &page, Checksum: nest.Checksum},
		}, nil
	}
	name := *at
	name.Text = nest.Manifest
	path := l.beside(&name)
	if err := l.checkEnclosed(at, path); err != nil {
		return nil, err
	}
	o := &origin{key: path, file: path, shown: l.confined.Call(path), confined: l.confined}
	if archive.Is(path) {
		o.key += " " + nest.Checksum
		o.file, o.shown = "", o.shown+"/"+archive.ManifestFile
		o.archive = archive.Source{Path: path, Checksum: nest.Checksum}
	}
	return o, nil
}

// startingPoint is where a manifest comes from that the command line names.
func startingPoint(path string) (*origin, error) {
	switch {
	case archive.IsURL(path):
		source, err := archive.ParseURL(path)
		if err != nil {
			return nil, err
		}
		return &origin{shown: source.Page.String() + "/" + archive.ManifestFile, archive: source}, nil
	case archive.Is(path):
		return &origin{shown: filepath.Join(path, archive.ManifestFile), archive: archive.Source{Path: path}}, nil
	}
	path = manifestIn(path)
	return &origin{file: path, shown: path}, nil
}

// read gives the text of the manifest, and sets file and confined if it comes from
// an archive.
func (o *origin) read(ctx context.Context, archives *archive.Unpacker) ([]byte, error) {
	if o.file != "" {
		return read(o.file, "manifest")
	}
	if archives == nil {
		return nil, errors.New("archives are not unpacked here")
	}
	folder, err := archives.Unpack(ctx, o.archive)
	if err != nil {
		return nil, err
	}
	o.file = filepath.Join(folder, archive.ManifestFile)
	o.confined = archive.Enclosure{Folder: folder, Shown: strings.TrimSuffix(o.shown, "/"+archive.ManifestFile)}
	return read(o.file, "manifest")
}

// unreadable places why a nested manifest could not be read.
func unreadable(at *yamlpos.Node, err error) error {
	hint := ""
	if _, changed := errors.AsType[*archive.ChecksumError](err); changed {
		hint = "somebody has changed it: look at what is in it before you write its new checksum"
	}
	return at.Errorf(hint, "%v", err)
}

// checkEnclosed refuses a path that leads out of the archive that the loader's file
// stands in.
func (l *loader) checkEnclosed(at *yamlpos.Node, path string) error {
	if l.confined.Has(path) {
		return nil
	}
	return at.Errorf("an archive holds all that its manifests need", "%q leads out of the archive %s", at.Text, l.confined.Shown)
}
