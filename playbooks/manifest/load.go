package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/document"
	"github.com/ccm-push/ccm-push/playbooks/manifest/archive"
	"github.com/ccm-push/ccm-push/templates"
)

// Load reads plays from manifest files, or folders or archives with a manifest.yaml, in
// order; an archive may be a URL. All errors of all files are reported together, as
// yamlpos.Errors; the plays are then what could be read, for somebody who looks for more
// errors, and not to be run.
func Load(ctx context.Context, paths []string, registry modules.Registry, options ...Option) ([]*Play, error) {
	var plays []*Play
	var errs yamlpos.Errors
	options = append(options, shared(registry))
	var probe loader
	for _, option := range options {
		option(&probe)
	}
	for _, path := range paths {
		from, err := startingPoint(path)
		if err != nil {
			errs.Add(err)
			continue
		}
		data, err := from.read(ctx, probe.archives)
		if err != nil {
			errs.Add(err)
			continue
		}
		more, err := playsOf(ctx, from, data, registry, options)
		errs.Add(err)
		plays = append(plays, more...)
	}
	errs.Add(onePlayEach(plays))
	return plays, errs.Err()
}

// manifestIn gives the manifest.yaml in a folder; any other path as it is.
func manifestIn(path string) string {
	inside := filepath.Join(path, archive.ManifestFile)
	if info, err := os.Stat(inside); err == nil && info.Mode().IsRegular() {
		return inside
	}
	return path
}

// read reads a file, or says what to give instead; kind is what it should be.
func read(path, kind string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such %s%s", path, kind, meant(path))
	case err != nil:
		return nil, fmt.Errorf("reading a %s: %w", kind, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s: is a directory; give the %s in it, such as %s", path, kind, filepath.Join(path, "site.yaml"))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a %s: %w", kind, err)
	}
	return data, nil
}

// meant asks about a file beside a path that leads nowhere: site.yaml for site.yml.
func meant(path string) string {
	const most = 1000 // names; a hint is not worth more
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(most) // some are better than none
	slices.Sort(names)
	if name := yamlpos.Suggest(filepath.Base(path), names); name != "" {
		return fmt.Sprintf("; did you mean %s?", filepath.Join(filepath.Dir(path), name))
	}
	return ""
}

// Parse reads the plays of one file: a CCM manifest, a list of plays, or several
// documents of either. Files that the plays mention are looked for beside it.
// With an error the plays are as [Load] says.
func Parse(ctx context.Context, path string, data []byte, registry modules.Registry, options ...Option) ([]*Play, error) {
	return playsOf(ctx, &origin{file: path, shown: path}, data, registry, append(options, shared(registry)))
}

func playsOf(ctx context.Context, from *origin, data []byte, registry modules.Registry, options []Option) ([]*Play, error) {
	documents, err := yamlpos.Parse(from.shown, data)
	if err != nil {
		return nil, err
	}
	l := newLoader(from.file, registry)
	l.runs = ctx
	if from.shown != from.file { // it is in an archive
		l.file, l.applied, l.confined = from.shown, []string{from.shown}, from.confined
	}
	for _, option := range options {
		option(l)
	}
	plays := l.documents(documents)
	if len(plays) > 0 {
		plays[0].warnings = l.warnings
	}
	return plays, Distinct(l.errs)
}

// Warnings are what looks like a mistake in the files of the plays and need not
// be one.
func Warnings(plays []*Play) []string {
	var all []string
	for _, p := range plays {
		for _, w := range p.warnings { // a file may be included twice
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// loader reads one file.
type loader struct {
	registry modules.Registry
	file     string
	folder   string
	name     string
	chain    []string          // the files that include this one, outermost first
	marked   *templates.Marked // when the file was written by a template; else nil
	errs     yamlpos.Errors
	warnings []string

	nesting   *nesting          // nil where nothing can be applied
	archives  *archive.Unpacker // that manifests may be in; nil unpacks none
	runs      context.Context   // of downloads, and of what documents evaluate
	isNested  bool              // the file is a nested manifest
	compiling bool              // it is read for a host
	applied   []string          // the manifests that lead to the file by apply, itself the last
	confined  archive.Enclosure

	parameters *givenParameters // of configuration documents; nil if none are given

	graph   bool     // the resources are those of a graph
	ordered ordering // by the plays that include these

	remembered bool // hosts remember the play at hand

	ctx       context.Context                   // of the time that a host's resources may take; nil: no limit
	registers bool                              // register_when_stable has been warned of
	guessed   map[*yamlpos.Node]bool            // values of misspelled properties
	texts     map[*yamlpos.Node]*templates.Text // the expressions read so far
}

func newLoader(path string, registry modules.Registry) *loader {
	base := filepath.Base(path)
	return &loader{
		registry: registry,
		file:     filepath.Clean(path),
		folder:   filepath.Dir(path),
		name:     strings.TrimSuffix(base, filepath.Ext(base)),
		applied:  []string{filepath.Clean(path)},
		guessed:  map[*yamlpos.Node]bool{},
		texts:    map[*yamlpos.Node]*templates.Text{},
	}
}

// An Option says more of how plays are read.
type Option func(*loader)

// WithArchives lets nested manifests stand in archives, which are downloaded and
// unpacked until archives is closed. Without it they are errors.
func WithArchives(archives *archive.Unpacker) Option {
	return func(l *loader) { l.archives = archives }
}

// shared reads each nested manifest once for all files that are loaded with it. It
// stands last.
func shared(registry modules.Registry) Option {
	x := &nesting{registry: registry, known: map[string]*nested{}, instances: map[instanceKey]*Play{}}
	return func(l *loader) {
		if l.nesting == nil {
			x.archives, l.nesting = l.archives, x
		}
	}
}

// documents reads the plays of a file. That there is none at all is an error.
func (l *loader) documents(documents []*yamlpos.Node) []*Play {
	var plays []*Play
	for _, doc := range documents {
		plays = append(plays, l.document(doc)...)
	}
	if len(plays) == 0 && len(l.errs) == 0 {
		l.add(fmt.Errorf("%s: the file is empty", l.file))
	}
	return plays
}

// document reads a manifest or a list of plays. An empty document has none.
func (l *loader) document(doc *yamlpos.Node) []*Play {
	switch {
	case document.Is(doc):
		return l.configuration(doc)
	case doc.Kind == yamlpos.Map:
		return l.plays(doc)
	case doc.Kind == yamlpos.List:
		return l.listed(doc.Items)
	case doc.Value != nil:
		l.add(doc.Errorf("a manifest is a map with a ccm section, or a list of plays", "this is no manifest"))
	}
	return nil
}

func (l *loader) listed(items []*yamlpos.Node) []*Play {
	var plays []*Play
	for _, item := range items {
		if item.Kind != yamlpos.Map {
			l.add(item.Errorf("a play is a map: - hosts: ...", "this is no play"))
			continue
		}
		plays = append(plays, l.plays(item)...)
	}
	return plays
}

func (l *loader) add(err error) { l.errs.Add(err) }

// warn tells of what looks like a mistake, once: defaults are read with each
// entry.
func (l *loader) warn(n *yamlpos.Node, text string) {
	if w := n.Pos() + ": " + text; !slices.Contains(l.warnings, w) {
		l.warnings = append(l.warnings, w)
	}
}

// decode reads n into a struct, or reports what does not fit.
func (l *loader) decode(n *yamlpos.Node, into any, opts ...yamlpos.Option) {
	l.add(yamlpos.Decode(n, into, opts...))
}

// Distinct gives the errors sorted, each once: a mistake in defaults is found
// again in every resource that they are laid under, and several may stand at one
// place. It is nil without errors.
func Distinct(errs yamlpos.Errors) error {
	sorted, _ := errs.Err().(yamlpos.Errors)
	seen := map[yamlpos.Error]bool{}
	sorted = slices.DeleteFunc(sorted, func(e *yamlpos.Error) bool {
		again := seen[*e]
		seen[*e] = true
		return again
	})
	return sorted.Err()
}
