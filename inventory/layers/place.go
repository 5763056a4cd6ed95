package layers

import (
	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Content is what the inventories say about one group or host, or one file of
// variables: variables, and how to connect. All inventories add to the same one,
// later ones winning.
type Content struct {
	Vars     []*yamlpos.Node     // maps
	Connects []*yamlpos.Node     // maps
	Settings connection.Settings // what Vars and Connects say about the connection
}

// Add lays more over what there is.
func (c *Content) Add(more Content) {
	c.Vars = append(c.Vars, more.Vars...)
	c.Connects = append(c.Connects, more.Connects...)
	c.Settings.Add(more.Settings)
}

// A Place is content with whose it is and where it comes from.
type Place struct {
	Kind, Name string // "group" or "host", and which
	Source     string // see [Layer.Source]
	*Content
}

// Of is whose the place is: "group web".
func (p Place) Of() string { return p.Kind + " " + p.Name }
