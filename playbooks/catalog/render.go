package catalog

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// Rendered is a play made ready for one host, for people to look at.
type Rendered struct {
	Data      map[string]any
	Layers    []templates.Layer // that Data was merged from, low to high
	Resources []RenderedResource
	Pre, Post string // messages; "" if there is none
	// Graph is what the resources wait for. Its vertices are as they are written, its
	// order is that of Resources.
	Graph    *graph.Graph
	Parallel int // resources at once; 0 and 1 are one after the other
}

// A RenderedResource is one entry of the catalog.
type RenderedResource struct {
	Resource   *manifest.Resource
	Entry      modules.Entry // as the resource itself has it, without what others say of the order
	Properties *yamlpos.Node // resolved; nil if control excludes it
	Nested     *Nested       // nil if it applies no manifest
}

// Nested is the manifest that a resource applies.
type Nested struct {
	Manifest string
	Data     map[string]any
	Layers   []templates.Layer // that Data was merged from, low to high
}
