// Package starter writes what a person begins with: a project, a play, a resource type.
// Nothing that exists is written over.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed files
var files embed.FS

// Project writes an inventory, a manifest, data and what else is in a project into a folder,
// which may be there. It gives the paths of what it wrote.
func Project(dir string) ([]string, error) {
	named, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	const root = "files/project"
	err = fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		at := strings.TrimPrefix(name, root+"/")
		switch at {
		case "gitignore":
			at = ".gitignore"
		case "README.md":
			text = []byte(strings.Replace(string(text), "NAME", filepath.Base(named), 1))
		}
		texts[filepath.Join(dir, filepath.FromSlash(at))] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return write(texts)
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

// writeNew writes a file that nobody has made in the meantime either.
func writeNew(at, text string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
