package catalog

import (
	"context"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// CheckLiteral lets resources that read the folder resources/ report their errors before any host is contacted, if all
// their properties are literal and every host needs them.
func (c *Compiler) CheckLiteral(ctx context.Context) error {
	l := literalCheck{downloads: c.opts.Downloads}
	l.manifest(ctx, c.root)
	l.errs.Add(c.manifests.each(c.root, func(s *loadedManifest) { l.manifest(ctx, s) }))
	if len(l.errs) == 0 {
		_, err := c.manifests.union(l.bundles)
		l.errs.Add(err)
	}
	return manifest.Distinct(l.errs)
}

// A literalCheck collects the findings in the manifests so far.
type literalCheck struct {
	downloads *Downloads
	bundles   []*bundle // bundles that every host needs
	errs      yamlpos.Errors
}

// manifest checks the resources of one manifest.
func (l *literalCheck) manifest(ctx context.Context, s *loadedManifest) {
	env := &templates.Env{Files: s.files}
	for _, r := range s.play.Resources {
		if r.Unselected || !r.Unconditional() {
			continue
		}
		if modules.RequirementsOf(r.Type.New()).Resources && s.bundled() != nil {
			if err := s.bundled().err; err != nil {
				l.errs.Add(r.Name.Node.Errorf("", "%v", err))
				continue
			}
			l.bundles = withBundle(l.bundles, s.bundled())
		}
		if r.Name.HasExpressions() || r.Properties.HasExpressions() || !preparesAlone(r) {
			continue
		}
		sensitive := r.Sensitive != nil && !r.Sensitive.HasExpressions() && boolean(ctx, r.Sensitive, env, &l.errs)
		p := preparation{resource: r, manifest: s, env: env, discreet: sensitive, downloads: l.downloads, room: maxSize}
		made, err := p.prepare(ctx, r.Name.Node.Text, r.Properties.Node)
		if l.errs.Add(err); err == nil {
			l.bundles = withBundle(l.bundles, made.bundle)
		}
	}
}

// preparesAlone reports whether preparing a resource needs no host. It is false for resources that render or download,
// which is not wanted yet, and for resources that apply a manifest, which is checked separately.
func preparesAlone(r *manifest.Resource) bool {
	res := r.Type.New()
	_, prepares := res.(modules.Preparer)
	_, nests := res.(modules.Nester)
	needs := r.Requirements()
	return prepares && !nests && needs.Tree == nil && len(needs.Downloads) == 0
}
