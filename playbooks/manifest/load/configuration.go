package load

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/dsc"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/resource"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// configuration makes a play of a DSC configuration document.
func (f *file) configuration(ctx context.Context, n *yamlpos.Node, over ordering) []*manifest.Play {
	opts := dsc.Options{
		File: f.at.Name(), Now: time.Now, Type: f.run.documentType, Tells: f.run.tellsState, Open: f.documentBelow,
	}
	var err error
	if f.run.parameters != "" {
		f.run.note(f.run.parameters)
		if opts.Parameters, err = source.ReadParameters(ctx, f.run.parameters); err != nil {
			f.report.Add(err)
			return nil
		}
	}
	doc, err := dsc.Read(ctx, n, opts)
	if err != nil {
		f.report.Add(err)
		return nil
	}
	p := &manifest.Play{
		Name: f.at.Title(), File: f.at.Name(), Folder: f.at.Folder(), Configuration: doc,
		Registry: f.run.registry, PerHost: perHost{f.run, f.at, f.applies},
		Strategy: cmp.Or(over.strategy, manifest.Linear), Parallel: over.parallel,
	}
	if p.Graph() {
		p.Parallel = cmp.Or(p.Parallel, defaultParallel)
	}
	reader := &resource.Reader{Registry: f.run.registry, Report: f.report, Values: f.values}
	for _, instance := range doc.Instances {
		p.Resources = append(p.Resources, reader.Instance(instance))
	}
	f.checkReferences(p.Resources, p.Graph())
	f.rollout(ctx, p, nil, over.rollout)
	return []*manifest.Play{p}
}

// documentBelow reads a document that one includes; see [source.File.DocumentBelow].
func (f *file) documentBelow(at *yamlpos.Node, base, path string) (*yamlpos.Node, string, error) {
	if f.at.Archive == (source.ArchiveRoot{}) {
		f.run.note(filepath.Join(filepath.Dir(base), path))
	}
	return f.at.DocumentBelow(at, base, path)
}

// documentType finds a type by its name in a document, ignoring the case of the part before the slash.
func (rn *run) documentType(name string) (entry string, builtIn bool, hint string, ok bool) {
	t, ok := rn.registry.Lookup(name)
	if !ok || !strings.Contains(name, "/") || t.Family != nil || manifest.Applies(t) {
		hint := "a type is called Owner/Thing"
		if owner, _, _ := strings.Cut(name, "/"); strings.EqualFold(owner, "Ccm") {
			var known []string
			for _, t := range rn.registry {
				if t.Family == nil && !manifest.Applies(t) {
					known = append(known, owner+"/"+strings.ToUpper(t.Name[:1])+t.Name[1:])
				}
			}
			hint = "built-in types are " + strings.Join(known, ", ")
		}
		return name, false, hint, false
	}
	return t.Name, t.Below == "", "", true
}

// tellsState reports whether resources of a type report their state: types that can be queried do.
func (rn *run) tellsState(typeName string) bool {
	t, ok := rn.registry.Lookup(typeName)
	if !ok { // which is reported by itself
		return true
	}
	_, asked := t.New().(modules.Querier)
	return asked
}
