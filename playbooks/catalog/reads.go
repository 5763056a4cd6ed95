package catalog

import (
	"maps"
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// A FolderUse lists what a play may read from one folder when another machine compiles it.
type FolderUse struct {
	Folder string
	Read   []string            // files and folders that were read or looked for here, below Folder
	Names  []manifest.FileName // names of others
	Whole  string              // folder below Folder that is sent to hosts as a whole; "" means none
}

// FolderUses returns the files that the play, and the manifests that it applies, may read from each of their folders.
// Files that do not depend on a host have been read already.
func (c *Compiler) FolderUses() []FolderUse {
	byFolder := map[string]*FolderUse{}
	use := func(folder string) *FolderUse {
		if byFolder[folder] == nil {
			byFolder[folder] = &FolderUse{Folder: folder}
		}
		return byFolder[folder]
	}
	add := func(m *loadedManifest) {
		u := use(m.play.Folder)
		u.Names = append(u.Names, m.play.FileNames(m.files)...)
		if m.play.UsesResources() {
			u.Whole = resourcesFolder
			m.bundled() // notes the files that it reads
		}
	}
	add(c.root)
	_ = c.manifests.each(c.root, add) // [New] has reported the error
	if c.play.Programs != "" {
		use(c.play.Folder).Whole = ""
		use(c.play.Programs).Whole = "."
	}
	c.manifests.mu.Lock()
	defer c.manifests.mu.Unlock()
	for path, f := range c.manifests.open {
		use(path).Read = f.names()
	}
	var all []FolderUse
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		all = append(all, *byFolder[folder])
	}
	return all
}

// noted keeps the name of a file or folder that is read.
func (f *folder) noted(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read[name] = true
}

func (f *folder) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.read))
}
