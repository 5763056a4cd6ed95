package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// NeedsFull reports whether a host that the play is for needs the full host
// program for this resource, as far as can be told without the host: what control
// or each decides is left out, and properties that are open count as not given.
func (r *Resource) NeedsFull() bool {
	if r.Unselected || !r.Unconditional() {
		return false
	}
	if r.Child != nil && slices.ContainsFunc(r.Child.Resources, (*Resource).NeedsFull) {
		return true
	}
	if r.hasRules() {
		return true
	}
	full, ok := r.Type.New().(modules.FullBuilder)
	if !ok {
		return false
	}
	// What does not fit has been reported.
	_ = yamlpos.Decode(r.Properties.Node, full, yamlpos.Open(r.Properties.Open))
	modules.SetName(full, r.Name.Node.Text)
	modules.SetDefaults(full)
	return full.NeedsFull()
}
