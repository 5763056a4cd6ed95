package archive

import "slices"

// Subjects implements [modules.SubjectNamer].
func (a *Archive) Subjects() []string {
	if a.Ensure == absent {
		return []string{a.Name}
	}
	return slices.DeleteFunc([]string{a.Name, a.ExtractParent, a.Creates}, func(path string) bool { return path == "" })
}
