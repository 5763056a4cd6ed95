package parcel

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// maxPacked limits the files of a run, in bytes, unpacked and packed.
const maxPacked = 512 << 20

// inventoryFolders have variables of an inventory: a worker gets the variables of its hosts in another way.
var inventoryFolders = []string{"group_vars", "host_vars"}

// A packer packs the files of a run under their absolute paths.
type packer struct {
	out   bytes.Buffer
	zip   *gzip.Writer
	tar   *tar.Writer
	base  string // folder where the run was begun
	owned owned
	note  func(path string)              // gets each path before the file is read; nil ignores it
	see   func(name string, data []byte) // gets each packed file
	size  int64

	folders  map[string]*folderFiles
	packed   map[string]bool
	links    []link            // packed if nothing else has their path
	sent     []string          // lines for people
	withheld map[string]string // reasons, by files that are not packed
}

// A link is a symbolic link in a folder that is packed.
type link struct {
	path   string
	info   fs.FileInfo
	target string
}

// A candidate is a file that may be packed.
type candidate struct {
	path string   // absolute
	name string   // below root, or path
	root *os.Root // nil for a file that may be anywhere
	info fs.FileInfo
	by   naming
	why  string
}

// A naming is a way in which a play names a file.
type naming int

const (
	unnamed naming = iota // an expression may choose the file in its folder
	byValue               // a text of the play is the name, and an expression may choose the text
	needed                // the play cannot be compiled without the file
)

func newPacker(base string, owned owned, note func(path string), see func(name string, data []byte)) *packer {
	p := &packer{base: base, owned: owned, note: note, see: see, folders: map[string]*folderFiles{}, packed: map[string]bool{}, withheld: map[string]string{}}
	p.zip = gzip.NewWriter(&p.out)
	p.tar = tar.NewWriter(p.zip)
	return p
}

// close closes all folders.
func (p *packer) close() {
	for _, f := range p.folders {
		f.root.Close()
	}
}

// finish returns the archive.
func (p *packer) finish() ([]byte, error) {
	for _, l := range p.links {
		if err := p.header(l.path, l.info, l.target); err != nil {
			return nil, err
		}
	}
	err := errors.Join(p.tar.Close(), p.zip.Close())
	return p.out.Bytes(), err
}

// open opens a folder whose files are packed.
func (p *packer) open(folder string) (*folderFiles, error) {
	where, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if known := p.folders[where]; known != nil {
		return known, nil
	}
	root, err := os.OpenRoot(where)
	if err != nil {
		return nil, err
	}
	p.folders[where] = &folderFiles{p, where, root}
	return p.folders[where], p.header(where, nil, "")
}

// plain packs a file that the plays were read from, wherever it is.
func (p *packer) plain(file, why string) error {
	where, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(where)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return p.header(where, info, "")
	}
	name := where
	if below, err := filepath.Rel(p.base, where); err == nil && filepath.IsLocal(below) {
		name = below
	}
	return p.file(candidate{path: where, name: name, info: info, by: needed, why: why})
}

// keep notes a file that is not packed. A file that the play names may be packed already.
func (p *packer) keep(path, why string) {
	if !p.packed[path] {
		p.withheld[path] = why
	}
}

// file packs a file, unless no worker may have it: that is an error if the play needs it.
func (p *packer) file(c candidate) error {
	if p.packed[c.path] || !c.info.Mode().IsRegular() {
		return nil
	}
	if _, known := p.withheld[c.path]; known && c.by == unnamed {
		return nil
	}
	if p.size += c.info.Size(); p.size > maxPacked {
		return fmt.Errorf("the plays read more than %d MiB, at %s", maxPacked>>20, c.path)
	}
	why := p.owned.path(c)
	var data []byte
	if why == "" {
		if p.note != nil {
			p.note(c.path)
		}
		var err error
		if data, err = c.read(); err != nil {
			return err
		}
		var note string
		if why, note = p.owned.content(data, c.by != unnamed); note != "" {
			c.why += "; " + note
		}
	}
	switch {
	case why != "" && c.by == needed:
		return fmt.Errorf("%s: %s, but workers never get this file: %s\n  hint: remove the file from the play, or run the play without --workers", c.path, c.why, why)
	case why != "":
		p.keep(c.path, why)
		return nil
	}
	delete(p.withheld, c.path)
	p.packed[c.path] = true
	p.sent = append(p.sent, c.path+" ("+c.why+")")
	p.see(c.path, data)
	head, err := tar.FileInfoHeader(c.info, "")
	if err != nil {
		return err
	}
	head.Name, head.Uname, head.Gname, head.Uid, head.Gid, head.Size = strings.TrimPrefix(c.path, "/"), "", "", 0, 0, int64(len(data))
	if err := p.tar.WriteHeader(head); err != nil {
		return err
	}
	_, err = p.tar.Write(data)
	return err
}

func (c candidate) read() ([]byte, error) {
	if c.root == nil {
		return os.ReadFile(c.path)
	}
	return c.root.ReadFile(filepath.FromSlash(c.name))
}

// header packs a folder, or a link.
func (p *packer) header(path string, info fs.FileInfo, target string) error {
	if p.packed[path] {
		return nil
	}
	if info == nil {
		var err error
		if info, err = os.Stat(path); err != nil {
			return err
		}
	}
	p.packed[path] = true
	head, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	head.Name, head.Uname, head.Gname, head.Uid, head.Gid = strings.TrimPrefix(path, "/"), "", "", 0, 0
	return p.tar.WriteHeader(head)
}

// Contents selects the files of a run that workers get.
type Contents struct {
	Recipe  *Recipe
	Folders []catalog.FolderUse
	Values  func() []*yamlpos.Node         // data of the plays, whose texts may be names of files; called if an expression chooses a name
	Keys    []string                       // ids of private keys that no worker gets, see [privatekey.ID]
	Own     []string                       // files and folders of the operator, which no worker gets
	Note    func(path string)              // gets each path before the file is read; nil ignores it
	See     func(name string, data []byte) // gets each packed file
}

// Pack packs the files that workers need to compile the plays. sent has a line for each file, also for files that workers do not get.
func (c *Contents) Pack() (packed []byte, sent []string, err error) {
	p := newPacker(c.Recipe.Folder, newOwned(c.Keys, c.Own), c.Note, c.See)
	defer p.close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("packing the play's files for workers: %w", err)
		}
	}()
	if c.Recipe.Undo == nil {
		if err := c.pick(p); err != nil {
			return nil, nil, err
		}
	}
	for _, line := range slices.Sorted(slices.Values(p.sent)) {
		sent = append(sent, "workers get "+line)
	}
	for _, path := range slices.Sorted(maps.Keys(p.withheld)) {
		sent = append(sent, "workers do not get "+path+": "+p.withheld[path])
	}
	packed, err = p.finish()
	return packed, sent, err
}

// pick adds the files of the plays.
func (c *Contents) pick(p *packer) error {
	var files []string
	if c.Recipe.Files != nil {
		files = c.Recipe.Files()
	}
	for _, file := range files {
		if err := p.plain(file, "the play is read from it"); err != nil {
			return err
		}
	}
	pick := &picker{to: p, texts: sync.OnceValue(func() []string { return c.values(files) })}
	for _, u := range c.Folders {
		if err := pick.use(u); err != nil {
			return err
		}
	}
	for _, a := range c.Recipe.Archives {
		f, err := p.open(a.Folder)
		if err == nil {
			err = f.tree(".", unnamed, "it is in the archive "+a.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxUnpacked limits the files, folders and links of a run.
const maxUnpacked = 200_000

// Unpack unpacks an archive into an empty folder. Afterwards no link in it leads out of it.
func Unpack(data []byte, folder string) error {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	in := tar.NewReader(io.LimitReader(zip, 2*maxPacked))
	var links []string
	for n := 0; ; n++ {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return dropStray(root, links)
		}
		if err != nil {
			return err
		}
		if n == maxUnpacked {
			return fmt.Errorf("the controller sent more than %d files", maxUnpacked)
		}
		if err := unpackOne(root, head, in); err != nil {
			return err
		}
		if head.Typeflag == tar.TypeSymlink {
			links = append(links, filepath.Clean(head.Name))
		}
	}
}

// dropStray removes links that lead out of root, or nowhere: those could lead out once a missing folder is made.
func dropStray(root *os.Root, links []string) error {
	for _, link := range links {
		if target, err := root.Readlink(link); err == nil && !filepath.IsAbs(target) {
			if _, err := root.Stat(link); err == nil {
				continue
			}
		}
		if err := root.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func unpackOne(root *os.Root, head *tar.Header, in io.Reader) error {
	name := filepath.Clean(head.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(head.Mode) & fs.ModePerm
	switch head.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o700); err != nil {
			return err
		}
		return root.Chmod(name, mode|0o700)
	case tar.TypeSymlink:
		return root.Symlink(head.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, in)
		return errors.Join(err, f.Close())
	}
	return nil
}
