package catalog

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// checkFiles looks at the files that the play names: those that every host needs
// must be there, and a host may choose none of them.
func (c *Compiler) checkFiles() error {
	var errs yamlpos.Errors
	errs.Add(c.play.CheckPaths(c.files, c.tainted))
	errs.Add(c.play.CheckTemplates(c.files))
	for _, r := range c.play.Resources {
		if r.Unselected {
			continue
		}
		errs.Add(r.CheckPaths(c.files, c.tainted))
		errs.Add(r.CheckTemplates(c.files))
		if !r.Unconditional() {
			continue
		}
		for _, f := range r.PlayFiles() {
			if _, err := c.sources.content(f.Name.Text); err != nil {
				errs.Add(f.Name.Errorf("", "%s: %v", f.Property, err))
			}
		}
	}
	return manifest.Distinct(errs)
}
