package manifest

import (
	"context"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// A Block divides the resources of a block, which are all in [Resource].Child: first the resources that may fail, then
// the rescue resources, then the resources that always run.
type Block struct {
	Rescue, Always int // how many of the resources, the last ones
}

// Parts parts the resources of a block.
func (b *Block) Parts(all []*Resource) (main, rescue, always []*Resource) {
	last := len(all) - b.Always
	first := last - b.Rescue
	return all[:first], all[first:last], all[last:]
}

// Part returns the key of the block that contains the resource, if it is rescue or always; else "".
func (r *Resource) Part() string {
	if r.In == nil {
		return ""
	}
	_, rescue, always := r.In.Block.Parts(r.In.Child.Resources)
	switch {
	case slices.Contains(rescue, r):
		return "rescue"
	case slices.Contains(always, r):
		return "always"
	}
	return ""
}

// BlockType is the type of blocks. It is in no registry: only resources and their order know
// blocks, and no host has to.
func BlockType() modules.Type {
	return modules.Type{
		Name: "block",
		Doc:  "Resources that succeed or fail as one.",
		New:  func() modules.Resource { return new(block) },
	}
}

// WithBlock returns the registry with the type of blocks added, for lookups of reference targets.
func WithBlock(r modules.Registry) modules.Registry { return append(slices.Clip(r), BlockType()) }

// A block has no properties: its resources have.
type block struct {
	Name string `json:"name"`
}

var errNoProgram = errors.New("a block is a list of resources, and works only in a manifest")

// Validate implements [modules.Resource].
func (*block) Validate() error { return nil }

// Check implements [modules.Resource].
func (*block) Check(context.Context, modules.Host) (modules.Plan, error) {
	return modules.Plan{}, errNoProgram
}

// Apply implements [modules.Resource].
func (*block) Apply(context.Context, modules.Host, modules.Plan) error { return errNoProgram }
