package manifest

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// Applies reports whether the resource stands for a nested manifest.
func (r *Resource) Applies() bool { return Applies(r.Type) }

// Applies reports whether the resources of a type stand for nested manifests.
func Applies(t modules.Type) bool {
	_, ok := t.New().(modules.Nester)
	return ok
}

// Unknown reports whether the resource applies a manifest whose resources are
// known only per host.
func (r *Resource) Unknown() bool { return r.Applies() && (r.Child == nil || r.Child.JetFile != nil) }

// Nest decodes what a resource says of its nested manifest, as far as that is
// known. That the values fit has been checked.
func (r *Resource) Nest() modules.Nest {
	res := r.Type.New()
	_ = yamlpos.Decode(r.Properties.Node, res, yamlpos.Open(r.Properties.Open))
	modules.SetName(res, r.Manifest)
	return res.(modules.Nester).Nest()
}

// Walk visits resources in the order in which they run: those of a nested manifest
// before the one that applies it. depth is 0 for those of the list.
func Walk(resources []*Resource, visit func(r *Resource, depth int)) { walk(resources, 0, visit) }

func walk(resources []*Resource, depth int, visit func(*Resource, int)) {
	for _, r := range resources {
		if r.Child != nil {
			walk(r.Child.Resources, depth+1, visit)
		}
		visit(r, depth)
	}
}

// WalkFile visits the resources of a file as [Walk] does: those in its blocks, and not those
// of other manifests that it applies.
func WalkFile(resources []*Resource, visit func(r *Resource)) {
	for _, r := range resources {
		if r.Block != nil {
			WalkFile(r.Child.Resources, visit)
		}
		visit(r)
	}
}

// flatten lists resources as [Walk] visits them. within says of each how many of those
// right before it belong to the manifest that it applies.
func flatten(list []*Resource) (all []*Resource, within []int) {
	for _, r := range list {
		begin := len(all)
		if r.Child != nil {
			inner, counts := flatten(r.Child.Resources)
			all, within = append(all, inner...), append(within, counts...)
		}
		n := len(all) - begin
		all, within = append(all, r), append(within, n)
	}
	return all, within
}

// Nested gives the manifest that a resource of the play applies when that could
// not be known before: nest is what the resource comes to for a host. It is the
// same for every host that asks with the same. The errors carry positions.
func (p *Play) Nested(ctx context.Context, r *Resource, at *yamlpos.Node, nest modules.Nest) (*Play, error) {
	switch {
	case r.Child != nil:
		return r.Child, nil
	case p.PerHost == nil:
		return nil, at.Errorf("", "a manifest cannot be applied here")
	}
	return p.PerHost.Nested(ctx, p, r, at, nest)
}

// AppliedBy gives a nested manifest the tags and the selection of the play that applies
// it by a resource.
func (p *Play) AppliedBy(parent *Play, by *Resource) {
	p.Tags = append(slices.Clone(parent.Tags), by.Tags...)
	p.selection = parent.selection
	p.beforeStart = by.BeforeStart
	p.mark(p.Resources)
}

// Denied is the error of a resource that applies a manifest from within one that the
// resource by has applied with allow_apply: false.
func Denied(r, by *Resource) error {
	return r.Name.Node.Errorf(by.Name.Node.Pos()+" applies this manifest with allow_apply: false", "apply resources are denied")
}

// DataGiven is the data that the resource gives to its nested manifest; nil if it
// gives none of its own.
func (r *Resource) DataGiven() *yamlpos.Node {
	return keys.Given(r.PropertySet().Get("data"))
}
