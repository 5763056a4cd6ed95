package load

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// expand makes a separate copy of a manifest for every resource that applies it, at every depth. Selection and the
// meaning of references depend on the applying resource.
func (f *file) expand(resources []*manifest.Resource) {
	all, size := appliers(resources)
	for _, r := range all { // none in what templates write: hosts read that at once, without the lock
		n := f.run.nesting.read[r.Child]
		deepest := append(slices.Clone(f.applies), f.run.nesting.deepest(n)...)
		size += n.size
		switch {
		case len(deepest)-1 > maxNesting:
			f.report.Add(r.Name.Node.Errorf("", "maximum apply depth of %d exceeded: %s", maxNesting, strings.Join(deepest, " → ")))
			r.Child = nil
		case size > maxNested:
			f.report.Add(r.Name.Node.Errorf("", "the play and the manifests that it applies have more than %d resources", maxNested))
			r.Child = nil
			return
		}
	}
	for _, r := range all {
		if r.Child != nil {
			r.Child = f.instance(r, r.Child, f.applies)
		}
	}
}

// appliers returns the resources of a file that apply a manifest, and how many resources the file has.
func appliers(resources []*manifest.Resource) (all []*manifest.Resource, size int) {
	manifest.WalkFile(resources, func(r *manifest.Resource) {
		size++
		if r.Child != nil && r.Block == nil {
			all = append(all, r)
		}
	})
	return all, size
}

// deepest is the longest chain of manifests that begins at one of them.
func (x *nesting) deepest(n *nested) []string {
	chain := []string{n.play.File}
	all, _ := appliers(n.play.Resources)
	for _, r := range all {
		if inner := x.read[r.Child]; inner != nil && inner.height == n.height-1 {
			return append(chain, x.deepest(inner)...)
		}
	}
	return chain
}

// instance copies the manifest that a resource applies.
func (f *file) instance(r *manifest.Resource, from *manifest.Play, chain []string) *manifest.Play {
	child := *from
	chain = append(slices.Clone(chain), from.File)
	child.PerHost = perHost{f.run, f.run.nesting.read[from].at, chain}
	child.Resources = f.copies(r, &child, r.Nest().Deny, chain)
	return &child
}

// copies returns the resources of a copy of a manifest, or of a block in one. by is the resource that applies the
// manifest, or the block.
func (f *file) copies(by *manifest.Resource, from *manifest.Play, denied bool, chain []string) []*manifest.Resource {
	all := make([]*manifest.Resource, len(from.Resources))
	for i, one := range from.Resources {
		inner := *one
		all[i] = &inner
		inner.Conditional = !by.Unconditional()
		if denied && inner.Applies() {
			f.report.Add(manifest.Denied(&inner, by))
		}
		if inner.In != nil {
			inner.In = by
		}
		switch {
		case inner.Child == nil:
		case inner.Block != nil:
			block := *inner.Child
			block.PerHost = from.PerHost
			block.Resources = f.copies(&inner, &block, denied, chain)
			inner.Child = &block
		default:
			inner.Child = f.instance(&inner, inner.Child, chain)
		}
	}
	return all
}
