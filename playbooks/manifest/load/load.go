package load

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/resource"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// Files reads plays from manifest files, or folders or archives with a manifest.yaml, in
// order; an archive may be a URL. All errors of all files are reported together, as
// yamlpos.Errors; the plays are then what could be read, for a caller that looks for more
// errors, and not to be run.
func Files(ctx context.Context, paths []string, registry modules.Registry, options ...Option) ([]*manifest.Play, error) {
	var plays []*manifest.Play
	var errs yamlpos.Errors
	rn := newRun(registry, options)
	errs.Add(rn.readRollout(ctx))
	for _, path := range paths {
		origin, err := source.FindManifest(path)
		if err != nil {
			errs.Add(err)
			continue
		}
		rn.note(origin.Path())
		at, data, err := origin.Read(ctx, rn.archives)
		if err != nil {
			errs.Add(err)
			continue
		}
		at.Root = rn.root
		more, err := rn.plays(ctx, at, origin.Name, data)
		errs.Add(err)
		plays = append(plays, more...)
	}
	errs.Add(onePlayEach(plays))
	errs.Add(onlyOneQuestion(plays))
	return plays, manifest.Distinct(errs) // a rollout of the command line is read with each play
}

// Parse reads the plays of one file: a CCM manifest, a list of plays, or several documents of either. Files that the
// plays mention are read relative to it. See [Files] for the plays in case of an error.
func Parse(ctx context.Context, path string, data []byte, registry modules.Registry, options ...Option) ([]*manifest.Play, error) {
	return newRun(registry, options).plays(ctx, source.File{Path: path}, path, data)
}

// An Option configures how plays are read.
type Option func(*run)

// WithArchives allows manifests in archives, which are downloaded and unpacked until archives is closed. Without it
// they are errors.
func WithArchives(archives *source.Unpacker) Option {
	return func(rn *run) { rn.archives = archives }
}

// WithNote calls note before each file is read, also later for a host, and from several goroutines at once. Files in an
// archive are noted as the archive; web pages are not noted.
func WithNote(note func(path string)) Option {
	return func(rn *run) { rn.onRead = note }
}

// note reports a file before it is read. It ignores an empty path.
func (rn *run) note(path string) {
	if rn.onRead != nil && path != "" {
		rn.onRead(path)
	}
}

// noteNamed reports a file that f names, before it is read.
func (f *file) noteNamed(name string) {
	if f.at.Archive == (source.ArchiveRoot{}) {
		f.run.note(f.at.Resolve(name).Path)
	}
}

// WithRoot reads nothing outside of a folder, which holds a copy of the operator's files: absolute names in manifests
// are below it. Nothing in the folder may be a link that leads out of it.
func WithRoot(folder string) Option {
	return func(rn *run) { rn.root = folder }
}

// WithParameters passes the values of a parameter file to DSC configuration documents.
func WithParameters(path string) Option {
	return func(rn *run) { rn.parameters = path }
}

// WithKeys decrypts encrypted values in data and in files of vars_files. Without it, using an encrypted value is an
// error.
func WithKeys(keys *sealed.Ring) Option {
	return func(rn *run) { rn.keys = keys }
}

// openerOf returns the decryption function for the files of a manifest. Only files of the operator may name programs.
func (rn *run) openerOf(at source.File) yamlpos.Opener {
	if at.Archive != (source.ArchiveRoot{}) {
		return rn.keys.Foreign("this is a file of an archive").Opener()
	}
	return rn.keys.Opener()
}

// manifestOptions returns the options for parsing a manifest, in which only values may be encrypted.
func (rn *run) manifestOptions(at source.File) []yamlpos.ParseOption {
	return []yamlpos.ParseOption{yamlpos.Secrets(), yamlpos.KeepSealedValues(rn.openerOf(at))}
}

// A run is the state that all files of one read share.
type run struct {
	registry   modules.Registry
	archives   *source.Unpacker // nil unpacks none
	parameters string           // parameter file of DSC documents; empty means none
	keys       *sealed.Ring     // nil opens nothing
	root       string           // see [WithRoot]; empty means none
	nesting    nesting

	onRead func(path string) // see [WithNote]; may be nil

	rolloutFile string        // see [WithRollout]; empty means none
	rollout     *yamlpos.Node // block in rolloutFile
}

func newRun(registry modules.Registry, options []Option) *run {
	rn := &run{registry: registry, nesting: newNesting()}
	for _, option := range options {
		option(rn)
	}
	return rn
}

// plays reads the plays of a file. name is the file's name in positions: the name that the operator wrote.
func (rn *run) plays(ctx context.Context, at source.File, name string, data []byte) ([]*manifest.Play, error) {
	documents, err := yamlpos.Parse(name, data, rn.manifestOptions(at)...)
	if err != nil {
		return nil, err
	}
	f := rn.file(at, nil)
	plays := f.documents(ctx, documents, ordering{})
	if len(plays) > 0 {
		plays[0].Warnings = f.report.Warnings
	}
	return plays, f.report.Err()
}

// AdHoc returns the play of one resource, or of several that are queried (see [modules.Querier]) and neither checked
// nor applied; an empty query means none. all has the properties of each resource as plain values: no part of them is
// an expression.
func AdHoc(pattern string, t modules.Type, query string, all ...map[string]any) (*manifest.Play, error) {
	here := &yamlpos.Node{File: "command line"}
	play := &manifest.Play{Name: "ad hoc", Folder: ".", Hosts: yamlpos.From(here, pattern)}
	report := &manifest.Report{}
	reader := &resource.Reader{Registry: modules.Registry{t}, AdHoc: true, Report: report, Values: manifest.NewValueReader(report, nil)}
	for _, properties := range all {
		r, named := reader.Literal(t, yamlpos.From(here, properties))
		if !named {
			return nil, errors.New("command line: name is required")
		}
		r.Query = query
		play.Resources = append(play.Resources, r)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return play, nil
}
