package pkg

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
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
		return &modules.PropertyError{Path: "source", Msg: "no controller to download the package", Hint: "write path, for a file that the host has"}
	default:
		p.Content, err = src.Download(ctx, modules.Download{URL: p.Source, SHA256: p.digest(), MaxSize: maxSource})
	}
	if err != nil {
		return modules.Errorf("source", "%v", err)
	}
	p.Source = ""
	return nil
}

func (p *Package) validateSource() error {
	switch {
	case p.Checksum != "" && !modules.IsDigest(p.digest()):
		return &modules.PropertyError{Path: "checksum", Msg: "checksum is not a SHA-256", Hint: `write checksum: "sha256:…", with 64 hexadecimal digits`}
	case p.Source != "" && p.Path != "":
		return modules.Errorf("path", "'source' and 'path' are mutually exclusive")
	case p.local() && p.Ensure == latest:
		return &modules.PropertyError{Path: "ensure", Msg: "a package file has only one version, so latest is not possible", Hint: "write the version that it has"}
	case modules.IsURL(p.Source):
		u, err := url.Parse(p.Source)
		switch {
		case err != nil || u.Hostname() == "": // the text of err has all of it
			return &modules.PropertyError{Path: "source", Msg: "source is not a valid URL", Hint: "write https://host/path, with %XX for special characters"}
		case u.User != nil:
			return modules.Errorf("source", "a source may not have a user or a password")
		case p.Checksum == "" && p.Content.IsZero():
			return &modules.PropertyError{Path: "source", Msg: "a downloaded package needs a checksum", Hint: `write checksum: "sha256:…", as sha256sum prints it`}
		}
	case p.Source != "" && p.Checksum != "":
		return &modules.PropertyError{Path: "source", Msg: "'checksum' needs a source that is a URL or an absolute path, but this source is a file next to the manifest", Hint: "remove checksum"}
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
func (p *Package) fromFile(ctx context.Context, h modules.Host, m manager, have State) (*steps, error) {
	if m.suffix() == "" {
		return nil, modules.Refuse("apk cannot read the name and version of a package file; use an exec resource: apk add FILE")
	}
	s := &steps{verb: install, version: p.version(), within: p.within(), awaits: true}
	if _, pending := h.Forecast.Lookup(modules.PathEffect, p.Path); p.Path != "" && !pending {
		version, err := p.look(ctx, h, m)
		if err != nil {
			return nil, err
		}
		s.version, s.file, s.awaits = version, p.Path, false
	}
	if have.Version == "" || s.version == "" {
		return s, nil
	}
	order, err := m.against(ctx, have.Version, s.version)
	if order > 0 {
		s.verb = downgrade
	}
	return s, err
}

// look finds out which version is in the file that the host has.
func (p *Package) look(ctx context.Context, h modules.Host, m manager) (string, error) {
	digest, err := h.Files.Digest(p.Path)
	switch {
	case modules.NotThere(err):
		return "", modules.Refuse("cannot read %s: no such file on this host", p.Path)
	case err != nil:
		return "", modules.PermissionRefusal(err)
	case p.Checksum != "" && digest != p.digest():
		return "", modules.Refuse("%s has the checksum %q, and not %q", p.Path, digest, p.digest())
	}
	return p.identify(ctx, m, p.Path)
}

// identify checks that a file contains the package in a version that ensure allows, and returns the version.
func (p *Package) identify(ctx context.Context, m manager, file string) (string, error) {
	name, version, err := m.inFile(ctx, file)
	if err != nil {
		return "", err
	}
	plainName, _ := splitArch(p.Name)
	plainName, _, _ = strings.Cut(plainName, ":")
	if name != plainName {
		return "", modules.Refuse("the file holds the package %q, and not %q", name, plainName)
	}
	if p.pinned() {
		if ok, err := p.suits(ctx, m, version); err != nil || !ok {
			return "", cmp.Or(err, modules.Refuse("the file holds version %s of %s, and not %s", version, name, p.Ensure))
		}
	}
	return version, nil
}

// staged writes the content from the controller to a file for the package manager, and identifies it.
func (p *Package) staged(ctx context.Context, h modules.Host, m manager) (file string, done func(), err error) {
	dir := path.Join(cmp.Or(h.Private, "/run"), "package-"+rand.Text())
	done = func() { _ = h.Files.Remove(context.WithoutCancel(ctx), dir, true) }
	if err := h.Files.MakeDir(ctx, dir, modules.Attributes{Mode: 0o700, UID: -1, GID: -1}); err != nil {
		return "", func() {}, err
	}
	r, err := h.Contents.Open(ctx, p.Content)
	if err != nil {
		return "", done, fmt.Errorf("getting the package: %w", err)
	}
	defer r.Close()
	plainName, _, _ := strings.Cut(p.Name, ":")
	file = path.Join(dir, plainName+m.suffix())
	if err := h.Files.Write(ctx, file, r, modules.Attributes{Mode: 0o600, UID: -1, GID: -1}); err != nil {
		return "", done, err
	}
	_, err = p.identify(ctx, m, file)
	return file, done, err
}

func (apt) suffix() string    { return ".deb" }
func (rpmdb) suffix() string  { return ".rpm" }
func (apk) suffix() string    { return "" }
func (pacman) suffix() string { return ".pkg.tar" }

// inFile implements [filer].
func (a apt) inFile(ctx context.Context, file string) (name, version string, err error) {
	exit, err := a.query(ctx, "", func(line string) {
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "Package":
			name = value
		case "Version":
			version = value
		}
	}, "dpkg-deb", "-f", file, "Package", "Version")
	return told("dpkg-deb", name, version, exit, err)
}

// inFile implements [filer]. It does not check the signature: the checksum, or the play, vouches for the file.
func (d rpmdb) inFile(ctx context.Context, file string) (name, version string, err error) {
	rows, exit, err := d.rows(ctx, "", "rpm", "-qp", "--nosignature", "--qf", rpmFormat, "--", file)
	if len(rows) > 0 {
		name, version = rows[0].name, rows[0].version
	}
	return told("rpm -qp", name, version, exit, err)
}

// inFile implements [filer].
func (p pacman) inFile(ctx context.Context, file string) (name, version string, err error) {
	exit, err := p.query(ctx, "", func(line string) { name, version, _ = strings.Cut(line, " ") }, "pacman", "-Qp", "--", file)
	return told("pacman -Qp", name, version, exit, err)
}

// inFile implements [filer].
func (apk) inFile(context.Context, string) (name, version string, err error) {
	return "", "", errors.ErrUnsupported
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
