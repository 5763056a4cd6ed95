package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// NewIndex makes the index of a list of resources, and of the manifests that they
// apply.
func NewIndex(list []*Resource, registry modules.Registry, inGraph bool) *reference.Index {
	order, within := flatten(list)
	all := make([]reference.Resource, len(order))
	for i, r := range order {
		all[i] = r.referred(within[i])
	}
	return reference.NewIndex(all, WithBlock(registry), inGraph)
}

// referred returns the view of the resource that references need. within is how many resources before it belong to what
// it applies.
func (r *Resource) referred(within int) reference.Resource {
	one := reference.Resource{
		Type: r.Type, Name: r.Name.Node, Names: r.LiteralNames(), Within: within,
		Open: r.DependsOnHost(), Each: r.Each != nil, Applies: r.Applies(), Unknown: r.Unknown(), Hidden: r.hidden(),
	}
	if r.Block != nil {
		one.Rescue, one.Always = r.Block.Rescue, r.Block.Always
	}
	for _, list := range r.OrderLists() {
		if refs := literals(list.Value); len(refs) > 0 {
			one.Lists = append(one.Lists, reference.List{Order: list.Order, Refs: refs})
		}
	}
	if r.Recv == nil {
		return one
	}
	for _, pair := range r.Recv.Node.Pairs {
		if !r.Recv.Open(pair.Value) {
			one.Recv = append(one.Recv, pair.Value)
		}
	}
	return one
}

// literals are the references whose text is known before any host is.
func literals(v *Value) []*yamlpos.Node {
	if v == nil {
		return nil
	}
	var refs []*yamlpos.Node
	for _, item := range v.Node.Items {
		if item.Kind == yamlpos.Scalar && !v.Open(item) {
			refs = append(refs, item)
		}
	}
	return refs
}

// An OrderList is a list of references that sets the order in which resources run.
type OrderList struct {
	reference.Order
	Value *Value // nil if it is not given
}

// OrderLists are the lists of the resource.
func (r *Resource) OrderLists() []OrderList {
	return []OrderList{
		{reference.Require, r.Require},
		{reference.Subscribe, r.Subscribe},
		{reference.Before, r.Before},
		{reference.Notify, r.Notify},
	}
}

// LiteralNames are the name and the alias, as far as they are known before any
// host is.
func (r *Resource) LiteralNames() []string {
	var names []string
	if !r.Name.HasExpressions() {
		names = append(names, r.Name.Node.Text)
	}
	if r.Alias != nil && !r.Alias.HasExpressions() {
		names = append(names, r.Alias.Node.Text)
	}
	return names
}
