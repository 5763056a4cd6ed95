package templates

// Exports for the external tests.
var (
	ValueAt   = valueAt
	NodeBelow = nodeBelow
	Mergeable = mergeable
)

// Annotated returns the paths of keys with annotations.
func (s Source) Annotated() (paths [][]string) {
	for _, r := range s.annotations.rules {
		paths = append(paths, r.path)
	}
	return paths
}
