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

// Parse reads the plays of one file: a CCM manifest, a list of plays, or several
// documents of either. Files that the plays mention are looked for beside it.
// With an error the plays are as [Files] says.
func Parse(ctx context.Context, path string, data []byte, registry modules.Registry, options ...Option) ([]*manifest.Play, error) {
	return newRun(registry, options).plays(ctx, source.File{Path: path}, path, data)
}

// An Option says more of how plays are read.
type Option func(*run)

// WithArchives lets manifests stand in archives, which are downloaded and unpacked until
// archives is closed. Without it they are errors.
func WithArchives(archives *source.Unpacker) Option {
	return func(rn *run) { rn.archives = archives }
}

// WithNote has note be called for every file that is about to be read, also later for a host, and by
// several goroutines at once. What stands in an archive is noted as that; what is on the web is not.
func WithNote(note func(path string)) Option {
	return func(rn *run) { rn.onRead = note }
}

// note says that a file is about to be read; "" is none.
func (rn *run) note(path string) {
	if rn.onRead != nil && path != "" {
		rn.onRead(path)
	}
}

// noteNamed says that a file which f names is about to be read.
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

// WithParameters gives DSC configuration documents the values of a parameter file.
func WithParameters(path string) Option {
	return func(rn *run) { rn.parameters = path }
}

// WithKeys opens what is encrypted in data and in files of vars_files. Without it that is an
// error where it is used.
func WithKeys(keys *sealed.Ring) Option {
	return func(rn *run) { rn.keys = keys }
}

// openerOf opens what is encrypted in the files of a manifest. Programs are named only by files
// of the operator.
func (rn *run) openerOf(at source.File) yamlpos.Opener {
	if at.Archive != (source.ArchiveRoot{}) {
		return rn.keys.Foreign("this is a file of an archive").Opener()
	}
	return rn.keys.Opener()
}

// manifestOptions are those with which a manifest is parsed, where only values may be encrypted.
func (rn *run) manifestOptions(at source.File) []yamlpos.ParseOption {
	return []yamlpos.ParseOption{yamlpos.Secrets(), yamlpos.KeepSealedValues(rn.openerOf(at))}
}

// A run is what all files share that are read together.
type run struct {
	registry   modules.Registry
	archives   *source.Unpacker // nil unpacks none
	parameters string           // a file with those of DSC documents; "" if there is none
	keys       *sealed.Ring     // nil opens nothing
	root       string           // see [WithRoot]; "" is none
	nesting    nesting

	onRead func(path string) // see [WithNote]; may be nil

	rolloutFile string        // see [WithRollout]; "" is none
	rollout     *yamlpos.Node // that stands in it
}

func newRun(registry modules.Registry, options []Option) *run {
	rn := &run{registry: registry, nesting: newNesting()}
	for _, option := range options {
		option(rn)
	}
	return rn
}

// plays reads those of a file. name is what positions call it: what the operator wrote.
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

// AdHoc makes the play of one resource, or of several that are asked a query of their type, see
// [modules.Querier], and neither checked nor applied; a query of "" is none. all are the properties of
// each, which are values: nothing in them is an expression.
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
