package templates

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// sealedText is a value that is opened when it is needed, for all hosts at once. It is a text,
// and never evaluated.
type sealedText struct{ node *yamlpos.Node }

// Settle implements written.
func (s sealedText) Settle(*render.Run) (any, error) {
	text, err := s.node.Open()
	if err != nil {
		return nil, diagnosed(err)
	}
	return text, nil
}

// SealedValue returns a value of an [Inventory] that is opened when it is read.
func SealedValue(n *yamlpos.Node) any {
	return render.Sealed{Open: func() (string, error) {
		text, err := n.Open()
		if err != nil {
			return "", diagnosed(err)
		}
		return text, nil
	}}
}

// diagnosed returns an error with a position in the type of expression errors.
func diagnosed(err error) error {
	var errs yamlpos.Errors
	errs.Add(err)
	e := errs[0]
	return &diag.Error{File: e.File, Line: e.Line, Column: e.Column, Msg: e.Msg, Hint: e.Hint}
}

func (sealedText) Reads() *render.Reads       { return &render.Reads{} }
func (sealedText) FromHost(render.Taint) bool { return false }

// unread replaces a sealed value that no play reads, so that it stays closed.
const unread = "[secret]"

// sealed returns the node of a value that is sealed, else nil.
func (d *deferred) sealed() *yamlpos.Node {
	if s, is := d.text.(sealedText); is {
		return s.node
	}
	return nil
}

// Sealed lists the sealed values in data and files of vars_files that count, whatever the facts of a host are: reads
// reports whether a play reads a path, and over whether another source may replace a key.
func (s Source) Sealed(reads func(path string) bool, over func(key string) bool) (nodes []*yamlpos.Node) {
	last := map[string]document{}
	for _, d := range append([]document{s.data}, s.files...) {
		if d.node != nil {
			for _, pair := range d.node.Pairs {
				last[pair.Key.Text] = d
			}
		}
	}
	for key, d := range last {
		if over(key) || s.overridden(key) {
			continue
		}
		n := d.node.Get(key)
		d.each(n, key, func(path string, n *yamlpos.Node) {
			if n.CanOpen() && reads(path) {
				nodes = append(nodes, n)
			}
		})
	}
	return nodes
}

// Sets reports whether a key of the data may be set by the source.
func (s Source) Sets(key string) bool {
	return s.overridden(key) || slices.ContainsFunc(append([]document{s.data}, s.files...), func(d document) bool { return d.sets(key) })
}

func (s Source) overridden(key string) bool {
	for _, d := range s.overrides {
		if d.sets(key) {
			return true
		}
	}
	return false
}

func (d document) sets(key string) bool { return d.node != nil && d.node.Get(key) != nil }

// openAll opens the sealed values in v that are read, in parallel: each costs milliseconds. Errors are reported when
// the values are used.
func openAll(v any, reads func(path string) bool) {
	var nodes []*yamlpos.Node
	eachDeferred(v, func(d *deferred) {
		if n := d.sealed(); n != nil && (reads == nil || reads(d.path)) {
			nodes = append(nodes, n)
		}
	})
	yamlpos.OpenAll(nodes)
}

func eachDeferred(v any, visit func(*deferred)) {
	switch v := v.(type) {
	case *deferred:
		visit(v)
	case *joint:
		eachDeferred(v.base, visit)
		eachDeferred(v.over, visit)
	case map[string]any:
		for _, value := range v {
			eachDeferred(value, visit)
		}
	case []any:
		for _, item := range v {
			eachDeferred(item, visit)
		}
	}
}
