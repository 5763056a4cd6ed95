package catalog

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A loadedManifest is the play, or a manifest that it applies, with the folder that its
// files are read from.
type loadedManifest struct {
	play    *manifest.Play
	files   *templates.Files
	sources *sources
	data    []templates.Source // all data of its resources, except their own vars
	tainted map[string]bool    // keys of the data that are made of facts
	taints  sync.Map           // *manifest.Resource to manifest.Taint, see [loadedManifest.taint]
	checked func() error       // errors that every host would have, computed once
	bundled func() *bundle     // folder resources/; nil means none
	memos   sync.Map           // see [loadedManifest.remembered]
}

// newLoadedManifest returns a manifest with all its data. tainted are the keys that facts decide in the data that another
// manifest passes to it.
func newLoadedManifest(play *manifest.Play, f *folder, tainted map[string]bool, data []templates.Source) *loadedManifest {
	m := &loadedManifest{play: play, files: f.files, sources: f.sources, data: data, bundled: f.sources.bundled}
	m.tainted = templates.KeysFromHost(tainted, data...)
	m.checked = sync.OnceValue(m.check)
	return m
}

// taint returns the taint of one of its resources.
func (m *loadedManifest) taint(r *manifest.Resource) manifest.Taint {
	if known, ok := m.taints.Load(r); ok {
		return known.(manifest.Taint)
	}
	t := r.Taint(m.tainted, m.data...)
	if m.play.JetFile == nil { // else the resource is of one host alone
		m.taints.Store(r, t)
	}
	return t
}

// check checks the files that a manifest names: files that every host needs must exist, and a host may choose none of
// them.
func (m *loadedManifest) check() error {
	var errs yamlpos.Errors
	errs.Add(m.play.CheckPaths(m.files, m.tainted))
	errs.Add(m.play.CheckTemplates(m.files))
	for _, r := range m.play.Resources {
		if r.Unselected {
			continue
		}
		errs.Add(m.taint(r).CheckPaths(m.files))
		errs.Add(r.CheckTemplates(m.files))
		if !r.Unconditional() {
			continue
		}
		for _, f := range r.PlayFiles() {
			if _, err := m.sources.content(f.Name.Text); err != nil {
				about := modules.AboutProperty(f.Property, err)
				errs.Add(f.Name.Errorf(about.Hint, "%s: %s", f.Property, about.Msg))
			}
		}
	}
	m.place(errs)
	return manifest.Distinct(errs)
}

// place adds the folder of the manifest to errors in files that it names: their names are
// relative to it, and several roles may have a file of one name.
func (m *loadedManifest) place(errs yamlpos.Errors) {
	folder := filepath.Dir(m.play.File)
	if folder == "." {
		return
	}
	for i, e := range errs {
		if e.Folder == "" && m.files.HasRead(e.File) {
			placed := *e
			placed.Folder, placed.Within = m.play.Folder, folder
			errs[i] = &placed
		}
	}
}

// remembered implements [modules.Source].Memo: it returns the result of make for a key, computed once.
func (m *loadedManifest) remembered(key string, make func() any) any {
	once, _ := m.memos.LoadOrStore(key, sync.OnceValue(make))
	return once.(func() any)()
}

// loadedManifests are the manifests of a play, and the folders that they read from, each opened once. They are safe for
// concurrent use, except [loadedManifests.close].
type loadedManifests struct {
	hiera  *templates.Source // --hiera; nil means none
	opener yamlpos.Opener    // decrypts files; nil decrypts none
	note   func(path string) // see [Options].Note
	// setFromHost has the keys that resources set to values from a host, in any of the manifests.
	setFromHost map[string]bool

	mu     sync.Mutex
	open   map[string]*folder // by path
	nested map[manifestKey]*loadedManifest
	unions map[string]*bundle // see [loadedManifests.union]
}

// A manifestKey is a nested manifest, and the inputs that decide which of its data is made of facts: the resources that
// apply one manifest may differ in these inputs.
type manifestKey struct {
	play    *manifest.Play
	tainted string             // keys that are made of facts, in the data that it is given
	parent  *loadedManifest    // the manifest whose data it gets; nil if the resource passes data
	by      *manifest.Resource // the resource, if it or a block around it has vars
}

type folder struct {
	files   *templates.Files
	sources *sources

	mu   sync.Mutex
	read map[string]bool // files and folders below it that were read or looked for
}

func newLoadedManifests(hiera *templates.Source, opener yamlpos.Opener, note func(string)) *loadedManifests {
	if note == nil {
		note = func(string) {}
	}
	return &loadedManifests{hiera: hiera, opener: opener, note: note, open: map[string]*folder{}, nested: map[manifestKey]*loadedManifest{}, unions: map[string]*bundle{}}
}

// folder opens a folder. Once hosts are compiled for, the lock is held.
func (all *loadedManifests) folder(path string) (*folder, error) {
	if known := all.open[path]; known != nil {
		return known, nil
	}
	files, err := templates.Open(path)
	if err != nil {
		return nil, err
	}
	f := &folder{files: files, read: map[string]bool{}}
	note := func(name string) {
		f.noted(filepath.Clean(name))
		all.note(filepath.Join(path, name))
	}
	files.OnRead(note)
	src, err := openSources(path, all.opener)
	if err != nil {
		files.Close()
		return nil, err
	}
	src.note = note
	f.sources = src
	all.open[path] = f
	return f, nil
}

func (all *loadedManifests) close() {
	for _, one := range all.open {
		one.files.Close()
		one.sources.close()
	}
}

// applied returns a manifest that a resource of another one applies, loaded.
func (all *loadedManifests) applied(parent *loadedManifest, r *manifest.Resource, child *manifest.Play) (*loadedManifest, error) {
	data := all.nestedSources(child, r)
	key := manifestKey{play: child}
	if r.DataGiven() == nil {
		vars := manifest.VarsAround(r)
		data = slices.Concat(parent.data, vars, data)
		if key.parent = parent; len(vars) > 0 {
			key.by = r
		}
	}
	tainted := map[string]bool{}
	maps.Copy(tainted, all.setFromHost)
	maps.Copy(tainted, parent.taint(r).Nested())
	key.tainted = strings.Join(slices.Sorted(maps.Keys(tainted)), "\x00")
	all.mu.Lock()
	defer all.mu.Unlock()
	if known := all.nested[key]; known != nil {
		return known, nil
	}
	folder, err := all.folder(child.Folder)
	if err != nil {
		return nil, err
	}
	m := newLoadedManifest(child, folder, tainted, data)
	if key.by == nil || parent.play.JetFile == nil { // else the resource is of one host alone
		all.nested[key] = m
	}
	return m, nil
}

// nestedSources returns the sources of data of a nested manifest, except the data that the applying resource passes.
func (all *loadedManifests) nestedSources(child *manifest.Play, r *manifest.Resource) []templates.Source {
	sources := []templates.Source{child.Data}
	if all.hiera != nil && r.DataGiven() != nil { // otherwise the parent's data has it
		sources = append(sources, *all.hiera)
	}
	return sources
}

// each visits the manifests that are applied below one, as far as
// they are known before any host is.
func (all *loadedManifests) each(parent *loadedManifest, visit func(*loadedManifest)) error {
	for _, r := range parent.play.Resources {
		if r.Child == nil || r.LeftOut() {
			continue
		}
		m, err := all.applied(parent, r, r.Child)
		if err != nil {
			return err
		}
		visit(m)
		if err := all.each(m, visit); err != nil {
			return err
		}
	}
	return nil
}
