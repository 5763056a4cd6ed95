package source

import "path/filepath"

// An Enclosure is the folder that an archive was unpacked into. Its manifests may
// not name what is outside of it: it is not the operator who wrote them. The zero
// Enclosure is none.
type Enclosure struct {
	Folder string
	Shown  string // how positions call it: the archive
}

// Has reports whether a path lies within it.
func (e Enclosure) Has(path string) bool {
	rel, err := filepath.Rel(e.Folder, path)
	return e.Folder == "" || err == nil && filepath.IsLocal(rel)
}

// Call gives the path as positions have it.
func (e Enclosure) Call(path string) string {
	rel, err := filepath.Rel(e.Folder, path)
	if e.Folder == "" || err != nil {
		return filepath.Clean(path)
	}
	return e.Shown + "/" + filepath.ToSlash(rel)
}
