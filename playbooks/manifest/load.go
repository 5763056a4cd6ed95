package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// Load reads plays from manifest files, in order. All errors of all files are
// reported together, as yamlpos.Errors.
func Load(paths []string, registry modules.Registry) ([]*Play, error) {
	var plays []*Play
	var errs yamlpos.Errors
	for _, path := range paths {
		data, err := read(path)
		if err != nil {
			errs.Add(err)
			continue
		}
		more, err := Parse(path, data, registry)
		errs.Add(err)
		plays = append(plays, more...)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return plays, nil
}

// read reads a manifest file, or says what to give instead.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such manifest", path)
	case err != nil:
		return nil, fmt.Errorf("reading a manifest: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("%s: is a directory; give the manifest in it, such as %s", path, filepath.Join(path, "site.yaml"))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	return data, nil
}

// Parse reads the plays of one file: a CCM manifest, a list of plays, or several
// documents of either. Files that the plays mention are looked for beside it.
func Parse(path string, data []byte, registry modules.Registry) ([]*Play, error) {
	base := filepath.Base(path)
	l := &loader{
		registry: registry,
		folder:   filepath.Dir(path),
		name:     strings.TrimSuffix(base, filepath.Ext(base)),
	}
	documents, err := yamlpos.Parse(path, data)
	if err != nil {
		return nil, err
	}
	var plays []*Play
	for _, doc := range documents {
		plays = append(plays, l.document(doc)...)
	}
	if len(plays) == 0 && len(l.errs) == 0 {
		l.add(fmt.Errorf("%s: the file is empty", path))
	}
	if err := Distinct(l.errs); err != nil {
		return nil, err
	}
	return plays, nil
}

// document reads a manifest or a list of plays. An empty document has none.
func (l *loader) document(doc *yamlpos.Node) []*Play {
	switch {
	case doc.Kind == yamlpos.Map:
		return []*Play{l.play(doc)}
	case doc.Kind == yamlpos.List:
		return l.plays(doc.Items)
	case doc.Value != nil:
		l.add(doc.Errorf("a manifest is a map with a ccm section, or a list of plays", "this is no manifest"))
	}
	return nil
}

func (l *loader) plays(items []*yamlpos.Node) []*Play {
	var plays []*Play
	for _, item := range items {
		if item.Kind != yamlpos.Map {
			l.add(item.Errorf("a play is a map: - hosts: ...", "this is no play"))
			continue
		}
		plays = append(plays, l.play(item))
	}
	return plays
}

// loader reads one file.
type loader struct {
	registry modules.Registry
	folder   string
	name     string
	errs     yamlpos.Errors
}

func (l *loader) add(err error) { l.errs.Add(err) }

// decode reads n into a struct, or reports what does not fit.
func (l *loader) decode(n *yamlpos.Node, into any, opts ...yamlpos.Option) {
	l.add(yamlpos.Decode(n, into, opts...))
}

// Distinct gives the errors sorted, each once: a mistake in defaults is found
// again in every resource that they are laid under. It is nil without errors.
func Distinct(errs yamlpos.Errors) error {
	sorted, _ := errs.Err().(yamlpos.Errors)
	sorted = slices.CompactFunc(sorted, func(a, b *yamlpos.Error) bool { return *a == *b })
	return sorted.Err()
}
