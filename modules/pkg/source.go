package pkg

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// maxSource bounds a package that is downloaded, in bytes.
const maxSource = 4 << 30

// local reports whether the package comes from a file, and not from a repository.
func (p *Package) local() bool { return p.Source != "" || p.Path != "" || !p.Content.IsZero() }

func (p *Package) digest() string { return strings.ToLower(strings.TrimPrefix(p.Checksum, "sha256:")) }

// Requires implements [modules.Requirer].
func (p *Package) Requires() modules.Requirements {
	needs := modules.Requirements{FullProgram: p.ofLanguage()}
	if p.Ensure != absent && modules.IsURL(p.Source) {
		needs.Downloads = []string{"source", "checksum"}
	}
	return needs
}

// Prepare implements [modules.Preparer]: on the wire, a file that the host does not have is in Content.
func (p *Package) Prepare(ctx context.Context, src modules.Source) (err error) {
	switch {
	case p.Source == "" || p.Validate() != nil:
		return nil
	case p.Ensure == absent:
		p.Source, p.Checksum = "", ""
		return nil
	case !modules.IsURL(p.Source):
		p.Content, err = src.File(ctx, p.Source)
	case src.Download == nil:
		return &modules.PropertyError{Path: "source", Msg: "no controller to download the package", Hint: `write "path", for a file that the host has`}
	default:
		p.Content, err = src.Download(ctx, modules.Download{URL: p.Source, SHA256: p.digest(), MaxSize: maxSource})
	}
	if err != nil {
		return modules.AboutProperty("source", err)
	}
	p.Source = ""
	return nil
}

func (p *Package) validateSource() error {
	switch {
	case p.Checksum != "" && !modules.IsDigest(p.digest()):
		return &modules.PropertyError{Path: "checksum", Msg: `"checksum" is not a SHA-256`, Hint: `write checksum: "sha256:…", with 64 hexadecimal digits`}
	case p.Source != "" && p.Path != "":
		return modules.Errorf("path", "'source' and 'path' are mutually exclusive")
	case p.local() && p.Ensure == latest:
		return &modules.PropertyError{Path: "ensure", Msg: "a package file has only one version, so latest is not possible", Hint: "write the version that it has"}
	case modules.IsURL(p.Source):
		u, err := url.Parse(p.Source)
		switch {
		case err != nil || u.Hostname() == "": // the text of err has all of it
			return &modules.PropertyError{Path: "source", Msg: `"source" is not a valid URL`, Hint: "write https://host/path, with %XX for special characters"}
		case u.User != nil:
			return modules.Errorf("source", "a source may not have a user or a password")
		case p.Checksum == "" && p.Content.IsZero():
			return &modules.PropertyError{Path: "source", Msg: "a downloaded package needs a checksum", Hint: `write checksum: "sha256:…", as sha256sum prints it`}
		}
	case p.Source != "" && p.Checksum != "":
		return &modules.PropertyError{Path: "source", Msg: "'checksum' needs a source that is a URL or an absolute path, but this source is a file next to the manifest", Hint: `remove "checksum"`}
	case !p.local() && p.Checksum != "":
		return &modules.PropertyError{Path: "checksum", Msg: "'checksum' is about a package that is in a file", Hint: "write source: https://… or path: /…"}
	}
	return modules.ValidatePath("path", p.Path)
}

// A filer is a manager that knows packages in files.
type filer interface {
	// suffix is the end of the names of package files; empty if the manager cannot install files.
	suffix() string
	// inFile returns which package a file contains.
	inFile(ctx context.Context, file string) (name, version string, err error)
}

// fromFile returns the steps to install the package of the file. If the file is on the host, its version is known.
func (i *installation) fromFile(ctx context.Context) (*steps, error) {
	if i.by.suffix() == "" {
		return nil, modules.Refuse("apk cannot read the name and version of a package file; use an exec resource: apk add FILE")
	}
	s := &steps{verb: install, version: wanted(i.Ensure).version(), within: wanted(i.Ensure).within(), awaits: true}
	if _, pending := i.host.Forecast.Lookup(modules.PathEffect, i.Path); i.Path != "" && !pending {
		version, err := i.fileVersion(ctx)
		if err != nil {
			return nil, err
		}
		s.version, s.file, s.awaits = version, i.Path, false
	}
	if i.have.Version == "" || s.version == "" {
		return s, nil
	}
	order, err := i.by.against(ctx, i.have.Version, s.version)
	if order > 0 {
		s.verb = downgrade
	}
	return s, err
}

// fileVersion finds out which version is in the file that the host has.
func (i *installation) fileVersion(ctx context.Context) (string, error) {
	digest, err := i.host.Files.Digest(i.Path)
	switch {
	case modules.NotThere(err):
		return "", modules.Refuse("cannot read %s: no such file on this host", i.Path)
	case err != nil:
		return "", modules.PermissionRefusal(err)
	case i.Checksum != "" && digest != i.digest():
		return "", modules.Refuse("%s has the checksum %q, and not %q", i.Path, digest, i.digest())
	}
	return i.identify(ctx, i.Path)
}

// identify checks that a file contains the package in a version that ensure allows, and returns the version.
func (i *installation) identify(ctx context.Context, file string) (string, error) {
	name, version, err := i.by.inFile(ctx, file)
	if err != nil {
		return "", err
	}
	plainName, _ := splitArch(i.Name)
	plainName, _, _ = strings.Cut(plainName, ":")
	if name != plainName {
		return "", modules.Refuse("the file holds the package %q, and not %q", name, plainName)
	}
	if wants := wanted(i.Ensure); wants.pinned() {
		if ok, err := wants.suits(ctx, i.by, version); err != nil || !ok {
			return "", cmp.Or(err, modules.Refuse("the file holds version %s of %s, and not %s", version, name, i.Ensure))
		}
	}
	return version, nil
}

// staged writes the content from the controller to a file for the package manager, and identifies it.
func (i *installation) staged(ctx context.Context) (file string, done func(), err error) {
	dir := path.Join(cmp.Or(i.host.Private, "/run"), "package-"+rand.Text())
	done = func() { _ = i.host.Files.Remove(context.WithoutCancel(ctx), dir, true) }
	if err := i.host.Files.MakeDir(ctx, dir, modules.Attributes{Mode: 0o700, UID: -1, GID: -1}); err != nil {
		return "", func() {}, err
	}
	r, err := i.host.Contents.Open(ctx, i.Content)
	if err != nil {
		return "", done, fmt.Errorf("getting the package: %w", err)
	}
	defer r.Close()
	plainName, _, _ := strings.Cut(i.Name, ":")
	file = path.Join(dir, plainName+i.by.suffix())
	if err := i.host.Files.Write(ctx, file, r, modules.Attributes{Mode: 0o600, UID: -1, GID: -1}); err != nil {
		return "", done, err
	}
	_, err = i.identify(ctx, file)
	return file, done, err
}

// told checks a program's answer about a file.
func told(program, name, version string, exit modules.Exit, err error) (string, string, error) {
	switch {
	case err != nil:
		return "", "", err
	case exit.Code != 0:
		return "", "", modules.Refuse("this is not a package: %w", failure(program, exit, nil))
	case name == "" || version == "":
		return "", "", modules.Refuse("this is not a package: %s found no package name", program)
	}
	return name, strings.TrimSpace(version), nil
}
