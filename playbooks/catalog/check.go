package catalog

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// checkSite looks at the files that a manifest names: those that every host needs
// must be there, and a host may choose none of them.
func (c *Compiler) checkSite(s *site) error {
	var errs yamlpos.Errors
	errs.Add(s.play.CheckPaths(s.files, s.tainted))
	errs.Add(s.play.CheckTemplates(s.files))
	for _, r := range s.play.Resources {
		if r.Unselected {
			continue
		}
		errs.Add(r.CheckPaths(s.files, s.tainted))
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

// Warnings are what in the templates of the play looks like a mistake, as far as they
// have been read.
func (c *Compiler) Warnings() []string {
	var all []string
	for _, f := range c.folders.open {
		all = append(all, f.files.Warnings()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
