package ral

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Prepare implements [modules.Preparer]: it lists the providers in the play's folder, and reads the metadata files next
// to them.
func (r *Ral) Prepare(_ context.Context, src modules.Source) error {
	numbersAsText(r.Properties)
	if r.Play != nil || src.Resources == nil || src.YAML == nil {
		return nil
	}
	folder := src.Resources()
	if folder == nil {
		return nil
	}
	known := src.Remember("ral providers", func() any { return readFolder(folder, src.YAML) }).(*contents)
	p := &play{}
	for _, o := range known.candidates {
		switch {
		case o.metadata == nil:
			p.Undescribed = append(p.Undescribed, o.file)
		case r.matches(o.metadata):
			p.Found = append(p.Found, found{File: o.file, metadata: *o.metadata.brief()})
		default:
			p.Others = append(p.Others, fmt.Sprintf("%s (resources/%s)", o.metadata.full(), o.file))
		}
	}
	if len(p.Found) > 0 { // no error lists them
		p.Others = nil
	}
	errs := []error{known.err}
	for _, b := range known.bad {
		switch {
		case r.mayMean(b):
			errs = append(errs, b.err)
		case (len(p.Found) == 0 || r.Provider == everyProvider) && len(p.Lost) < maxLost:
			p.Lost = append(p.Lost, b.err.Error())
		}
	}
	r.Play = p
	return errors.Join(errs...)
}

// maxLost limits the bad metadata that are reported to a resource that does not match them.
const maxLost = 10

// mayMean reports whether a resource can mean a provider whose metadata cannot be read.
func (r *Ral) mayMean(b badMetadata) bool {
	of, name, qualified := strings.Cut(r.Provider, "::")
	if !qualified {
		of, name = r.TypeName, r.Provider
	}
	switch {
	case r.Provider == everyProvider: // only in a query
		return false
	case of != "" && len(b.types) > 0 && !slices.Contains(b.types, of):
		return false
	case name == "" || slices.Contains(b.names, name):
		return true
	}
	return of == "" && slices.Contains(b.types, name) // one word may be either
}

// contents are the providers in a folder resources/. They are read once, and change
// no more.
type contents struct {
	candidates []candidate
	bad        []badMetadata
	err        error // error of the folder itself
}

// badMetadata cannot be used. types and names are guesses at the provider that they
// describe, by the words in them and by the name of the file.
type badMetadata struct {
	types, names []string
	err          error
}

func (b badMetadata) Error() string { return b.err.Error() }

// An candidate is a provider of the play.
type candidate struct {
	file     string
	metadata *metadata // nil: describe must be called
}

func readFolder(folder fs.FS, yaml func([]byte) (json.RawMessage, error)) *contents {
	c := &contents{}
	var errs []error
	for _, dir := range []string{".", providersDir} {
		files, err := fs.ReadDir(folder, dir)
		if err != nil && (dir == "." || !errors.Is(err, fs.ErrNotExist)) {
			errs = append(errs, fmt.Errorf("resources/%s: %w", dir, err))
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), suffix) || f.Name() == suffix || f.IsDir() {
				continue
			}
			o, err := readCandidate(folder, path.Join(dir, f.Name()), yaml)
			if bad, ok := errors.AsType[badMetadata](err); ok {
				c.bad = append(c.bad, bad)
				continue
			}
			c.candidates = append(c.candidates, o)
		}
	}
	c.err = errors.Join(errs...)
	return c
}

func readCandidate(folder fs.FS, file string, yaml func([]byte) (json.RawMessage, error)) (candidate, error) {
	stem := strings.TrimSuffix(file, suffix)
	var text []byte
	wrong := func(err error) (candidate, error) {
		return candidate{}, badMetadata{
			types: process.Guess(string(text), "type"), names: append(process.Guess(string(text), "name"), path.Base(stem)),
			err: modules.Errorf("", "resources/%s: %v", stem+metaSuffix, err),
		}
	}
	text, err := process.ReadFile(folder, stem+metaSuffix, modules.MaxParse)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return candidate{file: file}, nil
	case errors.Is(err, process.ErrTooLong):
		err = fmt.Errorf("it has more than %d KiB", modules.MaxParse>>10)
	}
	if err != nil {
		return wrong(err)
	}
	doc, err := yaml(text)
	if err != nil {
		return wrong(err)
	}
	m, err := parseMetadata(doc, path.Base(stem))
	if err != nil {
		return wrong(err)
	}
	return candidate{file, m}, nil
}

// brief omits text for people.
func (m *metadata) brief() *metadata {
	b := *m
	b.Desc, b.Attributes = "", map[string]attribute{}
	for name, a := range m.Attributes {
		a.Desc = ""
		b.Attributes[name] = a
	}
	return &b
}
