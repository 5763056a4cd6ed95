package load

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// expand gives every resource that applies a manifest a copy of that of its own,
// down to the last one: what is selected, and what a reference means, depends on
// who applies it.
func (f *file) expand(all []*manifest.Resource) {
	size := len(all)
	for _, r := range all {
		if r.Child == nil { // as in all that templates write: hosts read those at once, without the lock
			continue
		}
		n := f.run.nesting.read[r.Child]
		deepest := append(slices.Clone(f.applies), f.run.nesting.deepest(n)...)
		size += n.size
		switch {
		case len(deepest)-1 > maxNesting:
			f.report.Add(r.Name.Node.Errorf("", "maximum apply depth of %d exceeded: %s", maxNesting, strings.Join(deepest, " → ")))
			r.Child = nil
		case size > maxNested:
			f.report.Add(r.Name.Node.Errorf("", "the play has more than %d resources, with those of the manifests that it applies", maxNested))
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

// deepest is the longest chain of manifests that begins at one of them.
func (x *nesting) deepest(n *nested) []string {
	chain := []string{n.play.File}
	for _, r := range n.play.Resources {
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
	child.Resources = make([]*manifest.Resource, len(from.Resources))
	denied := r.Nest().Deny
	for i, one := range from.Resources {
		inner := *one
		child.Resources[i] = &inner
		inner.Conditional = !r.Unconditional()
		if denied && inner.Applies() {
			f.report.Add(manifest.Denied(&inner, r))
		}
		if inner.Child != nil {
			inner.Child = f.instance(&inner, inner.Child, chain)
		}
	}
	return &child
}
