//go:build !host

package repository

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: packages come after it, since they may need the repository. The host's manager
// is not known here, so the relations name the files of each manager.
func (r *Repository) Related() []modules.Relation {
	verb := modules.Makes
	if r.Ensure == absent {
		verb = modules.Removes
	}
	providers := []string{apt, "dnf", "zypper"}
	if r.Provider != "" {
		providers = []string{r.Provider}
	}
	var all []modules.Relation
	seen := map[string]bool{}
	for _, provider := range providers {
		file, key := definition{r, provider}.at()
		for _, at := range []string{file, key} {
			if !seen[at] {
				seen[at] = true
				all = append(all, modules.Relation{Verb: verb, Thing: modules.PathOf(at)})
			}
		}
	}
	if r.Path != "" {
		all = append(all, modules.NeedsParent(r.Path))
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Repository) Examples() fs.FS { return examples }
