//go:build !host

package pkg

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (p *Package) Related() []modules.Relation {
	all := modules.PackageRelations(p.Name, p.Ensure == absent)
	if p.Path != "" && p.Ensure != absent {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(p.Path), Reach: modules.Nearest, Why: "package file"})
	}
	return all
}
