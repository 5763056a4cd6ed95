package reference

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// A Resource is what references need to know of one.
type Resource struct {
	Type    modules.Type
	Name    *yamlpos.Node   // as it is written
	Names   []string        // name and alias, as far as they are known before any host is
	Open    bool            // its names depend on the host
	Each    bool            // it stands for one resource per element
	Applies bool            // it stands for a nested manifest
	Unknown bool            // it applies what is known only per host
	Hidden  bool            // it is never carried out, and sends nothing
	Within  int             // how many resources before it are what it applies
	Lists   []List          // by which it says what it runs before or after
	Recv    []*yamlpos.Node // the values that it receives, as far as they are literal
}

// Ref is how the manifest calls the resource.
func (r *Resource) Ref() string { return r.Type.Name + "#" + r.Name.Text }

// An Order is what a list of references says of the order in which resources run.
type Order struct {
	Key    string // of the list in a manifest
	Kind   graph.Kind
	Mirror bool // what it names comes after the resource, not before
}

// Orders that a resource can give.
var (
	Require   = Order{"require", graph.Require, false}
	Subscribe = Order{"subscribe", graph.Subscribe, false}
	Before    = Order{"before", graph.Require, true}
	Notify    = Order{"notify", graph.Subscribe, true}
)

// A List is the references of a resource that say the same of the order.
type List struct {
	Order
	Refs []*yamlpos.Node // those that are literal
}
