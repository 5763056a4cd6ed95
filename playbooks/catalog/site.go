package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A site is the play, or a manifest that it applies, with the folder that its
// files are read from.
type site struct {
	play    *manifest.Play
	files   *templates.Files
	sources *sources
	tainted map[string]bool // keys of the data that are made of facts
	checked func() error    // what every host would stumble over, found out once
	bundled func() *bundle  // the folder resources/; nil if there is none
	memos   sync.Map        // see [site.remembered]
}

func newSite(play *manifest.Play, f *folder, tainted map[string]bool) *site {
	s := &site{play: play, files: f.files, sources: f.sources, tainted: tainted, bundled: f.sources.bundled}
	s.checked = sync.OnceValue(s.check)
	return s
}

// check looks at the files that a manifest names: those that every host needs must be
// there, and a host may choose none of them.
func (s *site) check() error {
	var errs yamlpos.Errors
	errs.Add(s.play.CheckPaths(s.files, s.tainted))
	errs.Add(s.play.CheckTemplates(s.files))
	for _, r := range s.play.Resources {
		if r.Unselected {
			continue
		}
		errs.Add(r.Taint(s.tainted).CheckPaths(s.files))
		errs.Add(r.CheckTemplates(s.files))
		if !r.Unconditional() {
			continue
		}
		for _, f := range r.PlayFiles() {
			if _, err := s.sources.content(f.Name.Text); err != nil {
				errs.Add(f.Name.Errorf("", "%s: %v", f.Property, err))
			}
		}
	}
	return manifest.Distinct(errs)
}

// remembered is [modules.Source].Memo: what make gives for a key, made once.
func (s *site) remembered(key string, make func() any) any {
	once, _ := s.memos.LoadOrStore(key, sync.OnceValue(make))
	return once.(func() any)()
}

// sites are the manifests of a play, and the folders that they read from, each opened
// once. They may be used by many goroutines at once, but for [sites.close].
type sites struct {
	hiera *templates.Source // --hiera; nil if there is none

	mu     sync.Mutex
	open   map[string]*folder // by path
	nested map[siteKey]*site
	unions map[string]*bundle // see [sites.union]
}

// A siteKey is a nested manifest and the keys of its data that are made of facts:
// of those that apply the same one, each says for itself which these are.
type siteKey struct {
	play    *manifest.Play
	tainted string
}

type folder struct {
	files   *templates.Files
	sources *sources
}

func newSites(hiera *templates.Source) *sites {
	return &sites{hiera: hiera, open: map[string]*folder{}, nested: map[siteKey]*site{}, unions: map[string]*bundle{}}
}

// folder opens a folder. Once hosts are compiled for, the lock is held.
func (all *sites) folder(path string) (*folder, error) {
	if known := all.open[path]; known != nil {
		return known, nil
	}
	files, err := templates.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := openSources(path)
	if err != nil {
		files.Close()
		return nil, err
	}
	all.open[path] = &folder{files, src}
	return all.open[path], nil
}

func (all *sites) close() {
	for _, one := range all.open {
		one.files.Close()
		one.sources.close()
	}
}

// applied is the site of a manifest that a resource of another one applies.
func (all *sites) applied(parent *site, r *manifest.Resource, child *manifest.Play) (*site, error) {
	tainted := map[string]bool{}
	for _, source := range all.nestedSources(child, r) {
		maps.Copy(tainted, source.FromHost())
	}
	maps.Copy(tainted, r.Taint(parent.tainted).Nested())
	key := siteKey{child, strings.Join(slices.Sorted(maps.Keys(tainted)), "\x00")}
	all.mu.Lock()
	defer all.mu.Unlock()
	if known := all.nested[key]; known != nil {
		return known, nil
	}
	folder, err := all.folder(child.Folder)
	if err != nil {
		return nil, err
	}
	s := newSite(child, folder, tainted)
	all.nested[key] = s
	return s, nil
}

// nestedSources are the sources of data of a nested manifest, but for what the
// resource that applies it gives.
func (all *sites) nestedSources(child *manifest.Play, r *manifest.Resource) []templates.Source {
	sources := []templates.Source{child.Data}
	if all.hiera != nil && r.DataGiven() != nil { // otherwise the parent's data has it
		sources = append(sources, *all.hiera)
	}
	return sources
}

// each visits the sites of the manifests that are applied below one, as far as
// they are known before any host is.
func (all *sites) each(parent *site, visit func(*site)) error {
	for _, r := range parent.play.Resources {
		if r.Child == nil || r.Unselected {
			continue
		}
		s, err := all.applied(parent, r, r.Child)
		if err != nil {
			return err
		}
		visit(s)
		if err := all.each(s, visit); err != nil {
			return err
		}
	}
	return nil
}
