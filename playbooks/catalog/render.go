package catalog

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/templates"
)

// Rendered is a play made ready for one host, for people to look at.
type Rendered struct {
	Data      map[string]any
	Secrets   secret.Paths      // in Data
	Layers    []templates.Layer // layers that Data was merged from, low to high
	Given     map[string]any    // facts of the command line, which replace the host's
	Resources []RenderedResource
	Pre, Post string        // messages; empty means none
	Watch     *watch.Rules  // rules of the play
	WatchAt   *yamlpos.Node // last place that sets them; nil means none
	// Graph has the dependencies of the resources. Its vertices are in written order, its order is the order of
	// Resources.
	Graph    *graph.Graph
	Parallel int // resources at once; 0 and 1 are one after the other
}

// A RenderedResource is one entry of the catalog.
type RenderedResource struct {
	Resource   *manifest.Resource
	Entry      wire.Entry    // the resource's own entry, without the order that others require
	Before     []int         // the entries that its before names
	Notify     []int         // and its notify
	Properties *yamlpos.Node // resolved; nil if control excludes it
	Nested     *Nested       // nil if it applies no manifest
	Watch      *watch.Rules  // nil if it sets no watch rules
	// Awaits are the resources of whose results it is made, if they are not known: then neither are
	// its properties.
	Awaits []string

	Own []string // keys of the data whose values differ from the values around the resource

	Env     *templates.Env    // environment of its expressions; its Files are open as long as the compiler is
	Secrets secret.Paths      // in the data of Env
	Item    secret.Paths      // the same in its Item
	Layers  []templates.Layer // layers that the data of Env was merged from, low to high
}

// refer notes the resolved references of the resource. In a play in file order, references that lead back are in the
// entry already.
func (r *RenderedResource) refer(edges []graph.Edge) {
	for _, e := range edges {
		switch e.Why {
		case reference.Require.Key:
			r.Entry.Require = append(r.Entry.Require, e.From)
		case reference.Subscribe.Key:
			r.Entry.Subscribe = append(r.Entry.Subscribe, e.From)
		case reference.Before.Key:
			r.Before = append(r.Before, e.To)
		case reference.Notify.Key:
			r.Notify = append(r.Notify, e.To)
		}
	}
}

// renumber follows the entries of a graph to their places in its order.
func (r *RenderedResource) renumber(moved []int) {
	for _, list := range [][]int{r.Entry.Require, r.Entry.Subscribe, r.Before, r.Notify} {
		for k, i := range list {
			list[k] = moved[i]
		}
	}
}

// Nested is the manifest that a resource applies.
type Nested struct {
	Manifest string
	Data     map[string]any
	Secrets  secret.Paths      // in Data
	Layers   []templates.Layer // layers that Data was merged from, low to high
}
