//go:build !host

package pkg

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (p *Package) Related() []modules.Relation {
	return modules.PackageRelations(p.Name, p.Ensure == absent)
}
