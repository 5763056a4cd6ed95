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

// Nest decodes a resource's settings for its nested manifest, as far as they are known. The values have been checked.
func (r *Resource) Nest() modules.Nest {
	res := r.Type.New()
	_ = yamlpos.Decode(r.Properties.Node, res, yamlpos.Open(r.Properties.Open))
	modules.SetName(res, r.Manifest)
	return res.(modules.Nester).Nest()
}

// Walk visits resources in the order in which they run: resources of a nested manifest before the resource that applies
// it. depth is 0 for resources of the list itself.
func Walk(resources []*Resource, visit func(r *Resource, depth int)) { walk(resources, 0, visit) }

func walk(resources []*Resource, depth int, visit func(*Resource, int)) {
	for _, r := range resources {
		if r.Child != nil {
			walk(r.Child.Resources, depth+1, visit)
		}
		visit(r, depth)
	}
}

// WalkFile visits the resources of a file in the order of [Walk]. It includes resources in blocks, but not the
// resources of other manifests that the file applies.
func WalkFile(resources []*Resource, visit func(r *Resource)) {
	for _, r := range resources {
		if r.Block != nil {
			WalkFile(r.Child.Resources, visit)
		}
		visit(r)
	}
}

// flatten lists resources in the order of [Walk]. within has, for each resource, how many of the resources right before
// it belong to the manifest that it applies.
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

// Nested returns the manifest that a resource of the play applies, if it could not be known before. nest has the
// resource's resolved settings for a host; hosts with equal settings share one result. Errors carry positions.
func (p *Play) Nested(ctx context.Context, r *Resource, at *yamlpos.Node, nest modules.Nest) (*Play, error) {
	switch {
	case r.Child != nil:
		return r.Child, nil
	case p.PerHost == nil:
		return nil, at.Errorf("", "a manifest cannot be applied here")
	}
	return p.PerHost.Nested(ctx, p, r, at, nest)
}

// AppliedBy copies the tags and the selection of the play that applies p through a resource to p.
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

// DataGiven returns the data that the resource passes to its nested manifest; nil means none of its own.
func (r *Resource) DataGiven() *yamlpos.Node {
	return keys.Given(r.PropertySet().Get("data"))
}
