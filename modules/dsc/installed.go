package dsc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// programPath returns the search path for programs: the additional directories of the host's PATH come last.
func programPath() []string {
	if restricted := os.Getenv("DSC_RESTRICTED_PATH"); restricted != "" {
		return process.Dirs(restricted)
	}
	dirs := strings.Split(modules.DefaultPath, ":")
	for _, dir := range process.Dirs(os.Getenv("PATH")) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// manifestPath returns the search path for manifests.
func manifestPath() []string {
	list := process.Dirs(cmp.Or(os.Getenv("DSC_RESTRICTED_PATH"), os.Getenv("DSC_RESOURCE_PATH")))
	if len(list) == 0 {
		list = programPath()
	}
	var dirs []string
	for _, dir := range list {
		if dir = path.Clean(dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// safePath returns the [safe] part of [programPath].
func safePath(h modules.Host) []string {
	dirs, _ := safe(h, os.Geteuid(), programPath())
	return dirs
}

// safe keeps the paths at which others cannot put files; see [process.Safe]. Directories that every program of root
// trusts are not checked. Missing paths are skipped without an error.
func safe(h modules.Host, uid int, paths []string) (kept []string, unsafe []error) {
	if uid != 0 || h.Files.FileReader == nil {
		return paths, nil
	}
	usual := strings.Split(modules.DefaultPath, ":")
	for _, p := range paths {
		var err error
		if !slices.Contains(usual, p) {
			err = process.Safe(h.Files, uid, p)
		}
		switch {
		case err == nil:
			kept = append(kept, p)
		case !modules.NotThere(err):
			unsafe = append(unsafe, err)
		}
	}
	return kept, unsafe
}

// maxInstalled bounds the files that are read on a host.
const maxInstalled = 1000

// installed reads the manifests on the host. Unusable ones are recorded, since one of them may be the missing one.
func (s *search) installed(ctx context.Context) ([]located, error) {
	if s.h.Files.FileReader == nil {
		return nil, nil
	}
	s.looked = nil
	var all []located
	files := 0
	var dirs []string
	dirs, s.unsafe = safe(s.h, os.Geteuid(), manifestPath())
	for _, dir := range dirs {
		names, err := s.h.Files.List(dir)
		if err != nil {
			continue // not there, or not for us
		}
		s.looked = append(s.looked, dir)
		for _, name := range names {
			is, yaml := manifest.IsFile(name)
			if !is {
				continue
			}
			if files++; files > maxInstalled {
				return nil, modules.Refuse("there are more than %d manifests of DSC resources on the host", maxInstalled)
			}
			file := path.Join(dir, name)
			more, err := s.read(ctx, file, yaml)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// read reads one file of manifests.
func (s *search) read(ctx context.Context, file string, yaml bool) ([]located, error) {
	doc, err := s.document(ctx, file, yaml)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		s.reject(file, "", err)
		return nil, nil
	}
	list, rejected := manifest.Parse(path.Base(file), doc)
	for _, r := range rejected {
		s.reject(file, r.Type, r.Err)
	}
	_, unsafe := safe(s.h, os.Geteuid(), []string{file})
	var all []located
	for _, m := range list {
		if len(unsafe) > 0 {
			s.reject(file, m.Type, unsafe[0])
			continue
		}
		all = append(all, located{m, file})
	}
	return all, nil
}

func (s *search) reject(file, typ string, err error) {
	for _, known := range s.rejects {
		if known.File == file && known.Type == typ {
			return
		}
	}
	s.rejects = append(s.rejects, Reject{File: file, Type: typ, Reason: err.Error()})
}

// document reads a file of manifests as JSON.
func (s *search) document(ctx context.Context, file string, isYAML bool) (json.RawMessage, error) {
	r, err := s.h.Files.Open(file)
	if err != nil {
		return nil, cause(err)
	}
	defer r.Close()
	var yaml func([]byte) (json.RawMessage, error)
	if s.h.YAML != nil {
		yaml = func(text []byte) (json.RawMessage, error) { return s.parse(ctx, string(text)) }
	}
	text, err := process.ReadAtMost(r, manifest.MaxSize)
	return readDocument(text, err, isYAML, yaml)
}

// document is the result of parsing a YAML text.
type document struct {
	json json.RawMessage
	err  error
}

// parse converts a YAML document to JSON.
func (s *search) parse(ctx context.Context, text string) (json.RawMessage, error) {
	sum := sha256.Sum256([]byte(text))
	d, known := s.d.parsed.Get(string(sum[:]))
	if !known {
		d.json, d.err = s.h.YAML(ctx, text)
		if ctx.Err() == nil { // else the error may be from the context
			s.d.parsed.Put(string(sum[:]), d)
		}
	}
	return d.json, d.err
}

// cause removes the path from an error that is reported with the path.
func cause(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}
