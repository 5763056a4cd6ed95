package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Project is a folder with .ccm-secrets.yaml and everything below it, except folders with a .ccm-secrets.yaml of
// their own.
type Project struct {
	Root       string // absolute
	Recipients *recipients.File

	disk disk
}

// ErrNone reports a missing project: no file names the readers.
var ErrNone = errors.New("no " + recipients.FileName + " in this folder or in a folder above")

const example = `write one in the top folder of the project, such as
people:
  anna: ssh-ed25519 AAAA… # a line of ~/.ssh/id_ed25519.pub, or age1…
rules:
  - {path: "**", to: [anna]}`

// Of returns the project of a file or folder, after it has completed an interrupted rekey there.
func Of(path string) (*Project, error) {
	root, err := rootOf(path)
	if err != nil {
		return nil, err
	}
	name := shown(filepath.Join(root, recipients.FileName))
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := &Project{Root: root}
	if p.Recipients, err = recipients.Parse(name, text); err != nil {
		return nil, err
	}
	return p, recoverIn(root, disk{})
}

// rootOf returns the folder of the project of a file or folder.
func rootOf(path string) (string, error) {
	folder, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	for {
		if info, err := os.Stat(filepath.Join(folder, recipients.FileName)); err == nil && info.Mode().IsRegular() {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", &yamlpos.Error{File: path, Msg: ErrNone.Error(), Hint: strings.ReplaceAll(example, "\n", "\n  ")}
		}
		folder = above
	}
}

// shown returns a path for messages: relative to the working folder, if it is in there.
func shown(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// path returns the path of a file from the root, with slashes.
func (p *Project) path(file string) (string, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(p.Root, absolute)
	if err == nil && !filepath.IsLocal(rel) {
		err = fmt.Errorf("it is not below %s", p.Root)
	}
	return filepath.ToSlash(rel), err
}

// A Document is one file of a project. It may not exist yet.
type Document struct {
	Name   string // as errors call it
	Path   string // from the root, with slashes
	Text   []byte
	Exists bool
	Whole  bool          // age has encrypted all of it
	File   *agefile.File // nil if Whole

	project *Project
}

// Open reads a file, and finds its project.
func Open(name string) (*Document, error) {
	p, err := Of(name)
	if err != nil {
		return nil, err
	}
	return p.Read(name)
}

// Read reads a file with encrypted values, or one that is encrypted as a whole.
func (p *Project) Read(name string) (*Document, error) {
	d, err := p.ReadAny(name)
	if err != nil || d.Whole {
		return d, err
	}
	d.File, err = agefile.Read(name, d.Path, d.Text)
	return d, err
}

// ReadAny reads a file of any kind, without looking for values.
func (p *Project) ReadAny(name string) (*Document, error) {
	path, err := p.path(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &Document{Name: name, Path: path, project: p}
	if path == recipients.FileName {
		return nil, &yamlpos.Error{File: name, Msg: "this file lists the readers of the other files, and is not encrypted itself"}
	}
	d.Text, err = readFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it may be made
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s: no folder %s", name, filepath.Dir(name))
		}
	case err != nil:
		return nil, err
	default:
		d.Exists = true
	}
	d.Whole = agefile.IsWhole(d.Text)
	return d, nil
}

// maxFile bounds a file that is read, in bytes.
const maxFile = 64 << 20

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: it is larger than %d MiB", name, maxFile>>20)
	}
	return os.ReadFile(name)
}

// Encrypted reports whether there is anything in it that is encrypted.
func (d *Document) Encrypted() bool { return d.Whole || d.File.Header != nil }

// Readers returns the readers that the rules set for the file.
func (d *Document) Readers() ([]recipients.Reader, error) {
	return d.project.Recipients.Readers(d.Path)
}

// Write replaces a file, completely or not at all. A file that has changed since it was read is not written.
func (d *Document) Write(text []byte) error {
	p := d.project
	unlock, err := p.locked()
	if err != nil {
		return err
	}
	defer unlock()
	now, err := readFile(d.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, d.Text) {
		return fmt.Errorf("another program has changed the file %s, so ccm-push did not write the file\n  hint: run the command again", d.Name)
	}
	return p.disk.replace(d.Name, text)
}
