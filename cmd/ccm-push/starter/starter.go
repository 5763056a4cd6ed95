// Package starter writes the first files of a project, a play, an authority or a resource type.
// Nothing that exists is written over.
package starter

import (
	"crypto/ed25519"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

//go:embed files
var files embed.FS

// Project writes an inventory, a manifest, data and the other files of a project into a folder, which may exist. It returns
// the paths of the files.
func Project(dir string) ([]string, error) {
	named, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	texts, err := folder("files/project", dir)
	if err != nil {
		return nil, err
	}
	readme := filepath.Join(dir, "README.md")
	texts[readme] = strings.Replace(texts[readme], "NAME", filepath.Base(named), 1)
	return write(texts)
}

// Authority writes a new authority for certificates of users into a folder, which may exist: its key, a command that signs
// with it, and a manifest that makes hosts accept its certificates. It returns the paths of the files.
func Authority(dir string) ([]string, error) {
	texts, err := folder("files/authority", dir)
	if err != nil {
		return nil, err
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, authorityComment)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer)))
	texts[filepath.Join(dir, authorityKey)] = string(pem.EncodeToMemory(block))
	texts[filepath.Join(dir, authorityKey+".pub")] = line + " " + authorityComment + "\n"
	return write(texts)
}

const (
	authorityKey     = "user_ca" // name of the file with the private key
	authorityComment = "ccm-push authority"
)

// folder returns the texts below an embedded folder, by their paths below dir.
func folder(root, dir string) (map[string]string, error) {
	texts := map[string]string{}
	err := fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		at := strings.TrimPrefix(name, root+"/")
		if at == "gitignore" {
			at = ".gitignore"
		}
		texts[filepath.Join(dir, filepath.FromSlash(at))] = string(text)
		return err
	})
	return texts, err
}

// Play writes a manifest with one play.
func Play(file string) ([]string, error) {
	if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
		return nil, fmt.Errorf("%s: the name of a manifest ends in .yaml", file)
	}
	text, err := files.ReadFile("files/play.yaml")
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return write(map[string]string{file: strings.Replace(string(text), "NAME", strconv.Quote(name), 1)})
}

// write writes files that are not there, by their paths, and their folders. If one of them is,
// none is written.
func write(texts map[string]string) ([]string, error) {
	paths := slices.Sorted(maps.Keys(texts))
	var there []error
	for _, at := range paths {
		if _, err := os.Lstat(at); err == nil {
			there = append(there, fmt.Errorf("%s is there already; nothing was written", at))
		}
	}
	if len(there) > 0 {
		return nil, errors.Join(there...)
	}
	for i, at := range paths {
		if err := writeNew(at, texts[at]); err != nil {
			return paths[:i], err
		}
	}
	return paths, nil
}

// writeNew writes a new file; it fails if another process has made the file in the meantime.
func writeNew(at, text string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if filepath.Base(at) == authorityKey {
		mode = 0o600
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
