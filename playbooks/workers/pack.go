package workers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPacked bounds the files of a run, in bytes, as they are and packed.
const maxPacked = 512 << 20

// notPlayed are names in the folder of a play that are no part of it: inventories' variables, of which
// a worker gets those of its hosts, and what versions are kept in.
var notPlayed = []string{"group_vars", "host_vars", ".git", ".hg", ".svn", ".env"}

// pack packs folders, and other files, under their absolute paths. without are files and folders that
// are left out, whatever they are called there; none needs to exist. see is shown each file, and says whether it goes.
func pack(folders, files, without []string, see func(name string, data []byte) (goes bool)) ([]byte, error) {
	p := &packer{seen: map[string]bool{}, see: see}
	for _, path := range without {
		for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
			if info, err := look(path); err == nil {
				p.without = append(p.without, info)
			}
		}
	}
	zip := gzip.NewWriter(&p.out)
	p.tar = tar.NewWriter(zip)
	for _, folder := range folders {
		if err := p.folder(folder); err != nil {
			return nil, fmt.Errorf("packing the play's folder for workers: %w", err)
		}
	}
	for _, file := range files {
		if err := p.file(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("packing %s for workers: %w", file, err)
		}
	}
	err := errors.Join(p.tar.Close(), zip.Close())
	return p.out.Bytes(), err
}

type packer struct {
	out     bytes.Buffer
	tar     *tar.Writer
	seen    map[string]bool
	see     func(name string, data []byte) bool
	without []fs.FileInfo
	size    int64
}

// leavesOut reports whether a file or folder is one of those that are left out.
func (p *packer) leavesOut(info fs.FileInfo) bool {
	return slices.ContainsFunc(p.without, func(one fs.FileInfo) bool { return os.SameFile(one, info) })
}

func (p *packer) folder(path string) error {
	root, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if path != root && (slices.Contains(notPlayed, d.Name()) || p.leavesOut(info)) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		return p.file(path)
	})
}

// file packs one file, folder or link within its folder.
func (p *packer) file(path string) error {
	path, err := filepath.Abs(path)
	if err != nil || p.seen[path] {
		return err
	}
	p.seen[path] = true
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() && p.leavesOut(info) {
		return err
	}
	link := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		if link, err = os.Readlink(path); err != nil {
			return err
		}
		if filepath.IsAbs(link) { // it leads out of the folder, where nothing of a play is read
			return nil
		}
	case !mode.IsRegular() && !mode.IsDir():
		return nil
	}
	head, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	head.Name, head.Uname, head.Gname, head.Uid, head.Gid = strings.TrimPrefix(path, "/"), "", "", 0, 0
	if p.size += info.Size(); p.size > maxPacked {
		return fmt.Errorf("there are more than %d MiB: keep what is no part of the play elsewhere", maxPacked>>20)
	}
	if !info.Mode().IsRegular() {
		return p.tar.WriteHeader(head)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !p.see(path, data) {
		return nil
	}
	head.Size = int64(len(data))
	if err := p.tar.WriteHeader(head); err != nil {
		return err
	}
	_, err = p.tar.Write(data)
	return err
}

// maxUnpacked bounds how many files, folders and links a run has.
const maxUnpacked = 200_000

// unpack unpacks below a folder, which is empty. Afterwards no link in it leads out of it.
func unpack(data []byte, folder string) error {
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
		return root.MkdirAll(name, 0o700)
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
