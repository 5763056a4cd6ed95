package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/property"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// receives reads recv: what stands in it for this host becomes [Resource].Recv, for
// others [Resource].Imports.
func (l *loader) receives(r *Resource, n *yamlpos.Node) {
	list := given(n.Get("recv"))
	if list == nil || list.Kind != yamlpos.Map { // which decoding has reported
		return
	}
	own := *list
	own.Pairs = nil
	for _, pair := range list.Pairs {
		if !l.receivable(r, pair.Key) {
			continue
		}
		switch value := given(pair.Value); {
		case value == nil:
			l.add(pair.Key.Errorf("write PROPERTY: type#name.key", "%s is received from nowhere", pair.Key.Text))
		case value.Kind == yamlpos.Map:
			l.imported(r, pair.Key.Text, value)
		case value.Kind == yamlpos.List:
			l.add(value.Errorf("write PROPERTY: type#name.key", "a property is received from one resource, not from a list"))
		default:
			own.Pairs = append(own.Pairs, pair)
		}
	}
	if len(own.Pairs) > 0 {
		v := l.value(&own)
		r.Recv = &v
	}
}

// receivable reports whether a resource can receive a property.
func (l *loader) receivable(r *Resource, key *yamlpos.Node) bool {
	if !l.literalKey(key) {
		return false
	}
	name := property.Canonical(r.Type, key.Text)
	top, _, nested := strings.Cut(name, ".") // into a property that is a map of anything
	var field *modules.Field
	for _, f := range modules.Fields(r.Type.New()) {
		if f.Name == name || nested && f.Name == top && f.Type.Kind() == reflect.Map {
			field = &f
		}
	}
	switch {
	case r.Applies():
		l.add(key.Errorf("write it at the resources of that manifest", "a resource that applies a manifest receives nothing"))
	case name == "name":
		l.add(key.Errorf("", "the name of a resource cannot be received"))
	case field == nil:
		l.add(l.unknownKey(key, r.Type))
	case field.PlayFile, field.PlayTree:
		l.add(key.Errorf("receive what the file holds: content", "%s names a file of the play, which is read before any host has sent something", name))
	case r.properties().Get(name) != nil, nested && r.properties().Has(name):
		l.add(key.Errorf("keep one of them", "%s is both given and received", name))
	default:
		return true
	}
	return false
}

// imported reads what is received from another host.
func (l *loader) imported(r *Resource, name string, n *yamlpos.Node) {
	var k keys.Import
	l.decode(n, &k)
	one := Import{Property: property.Canonical(r.Type, name), Host: scalar(n.Get("host")), From: scalar(n.Get("from"))}
	for _, part := range []struct {
		key  string
		node *yamlpos.Node
	}{{"host", one.Host}, {"from", one.From}} {
		switch {
		case part.node == nil && given(n.Get(part.key)) == nil:
			l.add(n.Errorf("write {host: NAME, from: type#name.key}", "%s is missing", part.key))
			return
		case part.node == nil: // which decoding has reported
			return
		case l.isOpen(part.node):
			l.add(part.node.Errorf("write it as it is: no fact may lead a value to another host", "%s cannot be an expression", part.key))
			return
		}
	}
	var err error
	one.Ref, one.Key, err = reference.SplitValue(one.From, l.registry, func(string) bool { return false })
	if l.add(err); err == nil {
		r.Imports = append(r.Imports, one)
	}
}

// exports reads the keys of what a resource gives to other hosts.
func (l *loader) exports(r *Resource, n *yamlpos.Node) {
	list := given(n.Get("export"))
	if list == nil || list.Kind != yamlpos.List {
		return
	}
	known := map[string]bool{}
	for _, item := range list.Items {
		unknown := reference.CheckValue(l.registry, r.Type, item)
		switch {
		case item.Kind != yamlpos.Scalar:
		case r.Applies():
			l.add(item.Errorf("write it at the resources of that manifest", "a resource that applies a manifest has no values"))
		case l.isOpen(item):
			l.add(item.Errorf("", "what is exported cannot be an expression"))
		case unknown != nil:
			l.add(unknown)
		case known[item.Text]:
			l.add(item.Errorf("", "%s is exported twice", item.Text))
		default:
			known[item.Text] = true
			r.Exports = append(r.Exports, item)
		}
	}
}

// PropertyName gives the first spelling of a property.
func (r *Resource) PropertyName(key string) string { return property.Canonical(r.Type, key) }

// Received names the properties that the resource receives, from this host and
// from others.
func (r *Resource) Received() []string {
	var names []string
	if r.Recv != nil {
		for _, pair := range r.Recv.Node.Pairs {
			names = append(names, property.Canonical(r.Type, pair.Key.Text))
		}
	}
	for _, one := range r.Imports {
		names = append(names, one.Property)
	}
	return names
}

// checkReceiving is [loader.checkProperties], with what is received as not known
// yet.
func (l *loader) checkReceiving(r *Resource) {
	received := r.Received()
	if len(received) == 0 {
		l.checkProperties(r)
		return
	}
	with := *r
	with.Properties.Node = withOpen(r.Properties.Node, received)
	for _, pair := range with.Properties.Node.Pairs[len(r.Properties.Node.Pairs):] {
		l.guessed[pair.Value] = true
	}
	l.checkProperties(&with)
	if from, ok := r.Type.New().(modules.Downloader); ok {
		_ = yamlpos.Decode(r.Properties.Node, from, yamlpos.Open(r.Properties.Open)) // what does not fit has been reported
		for _, name := range from.Downloads() {
			if slices.Contains(received, name) {
				l.add(r.Name.Node.Errorf("let the host download it", "%s cannot be received: the controller needs it", name))
			}
		}
	}
}

// withOpen is the properties with more of them, of which no value is known.
func withOpen(n *yamlpos.Node, names []string) *yamlpos.Node {
	with := *n
	with.Pairs = slices.Clip(slices.Clone(n.Pairs))
	for _, name := range names {
		if strings.Contains(name, ".") {
			continue // in a map of anything, which need not be known
		}
		key := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Text: name, Value: name}
		value := *key
		value.Text, value.Value = "", nil
		with.Pairs = append(with.Pairs, yamlpos.Pair{Key: key, Value: &value})
	}
	return &with
}

// CheckReceiving validates resolved properties of a resource called name, of which
// those that are received are not known: it reports what is wrong whatever they
// come to. The error carries positions.
func (r *Resource) CheckReceiving(node *yamlpos.Node, name string) error {
	with := withOpen(node, r.Received())
	received := map[*yamlpos.Node]bool{}
	for _, pair := range with.Pairs[len(node.Pairs):] {
		received[pair.Value] = true
	}
	p := property.Partial{
		Set:  property.Set{Type: r.Type, Name: yamlpos.From(r.Name.Node, name), Node: with},
		Open: func(n *yamlpos.Node) bool { return received[n] },
	}
	var errs yamlpos.Errors
	for _, pe := range p.Certain() {
		errs.Add(Positioned(r, node, pe))
	}
	return errs.Err()
}
