package resource

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// receives reads recv: its entries for this host become [Resource].Recv, those for others [Resource].Imports.
func (rd *Reader) receives(r *manifest.Resource, n *yamlpos.Node) {
	list := keys.Given(n.Get("recv"))
	if list == nil || list.Kind != yamlpos.Map { // which decoding has reported
		return
	}
	own := *list
	own.Pairs = nil
	for _, pair := range list.Pairs {
		if !rd.receivable(r, pair.Key) {
			continue
		}
		switch value := keys.Given(pair.Value); {
		case value == nil:
			rd.Report.Add(pair.Key.Errorf("write PROPERTY: type#name.key", `%q in "recv" has no source`, pair.Key.Text))
		case value.Kind == yamlpos.Map:
			rd.imported(r, pair.Key.Text, value)
		case value.Kind == yamlpos.List:
			rd.Report.Add(value.Errorf("write PROPERTY: type#name.key", "a property is received from one resource, not from a list"))
		default:
			own.Pairs = append(own.Pairs, pair)
		}
	}
	if len(own.Pairs) > 0 {
		v := rd.Values.Value(&own)
		r.Recv = &v
	}
}

// receivable reports whether a resource can receive a property.
func (rd *Reader) receivable(r *manifest.Resource, key *yamlpos.Node) bool {
	if !rd.Values.LiteralKey(key) {
		return false
	}
	name := manifest.CanonicalProperty(r.Type, key.Text)
	top, _, nested := strings.Cut(name, ".") // into a property that is a map of anything
	var field *modules.Field
	for _, f := range modules.Fields(r.Type.New()) {
		if f.Name == name || nested && f.Name == top && f.Type.Kind() == reflect.Map {
			field = &f
		}
	}
	switch {
	case r.Applies():
		rd.Report.Add(key.Errorf("write the key in the resources of the applied manifest", "a resource that applies a manifest receives nothing"))
	case name == "name":
		rd.Report.Add(key.Errorf("", "the name of a resource cannot be received"))
	case field == nil:
		rd.Report.Add(rd.unknownKey(key, r.Type))
	case field.PlayFile, field.PlayTree:
		rd.Report.Add(key.Errorf(`receive the property "content", the content of the file`, "%q names a file of the play, which is read before hosts send values", name))
	case r.PropertySet().Get(name) != nil, nested && r.PropertySet().Has(name):
		rd.Report.Add(key.Errorf("keep one of them", `%q is set both directly and by "recv"`, name))
	default:
		return true
	}
	return false
}

// imported reads a value that is received from another host.
func (rd *Reader) imported(r *manifest.Resource, name string, n *yamlpos.Node) {
	var k keys.Import
	rd.Report.Decode(n, &k)
	one := manifest.Import{Property: manifest.CanonicalProperty(r.Type, name), Host: keys.Scalar(n.Get("host")), From: keys.Scalar(n.Get("from"))}
	for _, part := range []struct {
		key  string
		node *yamlpos.Node
	}{{"host", one.Host}, {"from", one.From}} {
		switch {
		case part.node == nil && keys.Given(n.Get(part.key)) == nil:
			rd.Report.Add(n.Errorf("write {host: NAME, from: type#name.key}", "%q is missing", part.key))
			return
		case part.node == nil: // which decoding has reported
			return
		case rd.Values.IsOpen(part.node):
			rd.Report.Add(part.node.Errorf("write it literally: a fact cannot choose the host that a value comes from", "%q cannot be an expression", part.key))
			return
		}
	}
	var err error
	one.Ref, one.Key, err = reference.SplitValue(one.From, rd.Registry, func(string) bool { return false })
	if rd.Report.Add(err); err == nil {
		r.Imports = append(r.Imports, one)
	}
}

// exports reads the keys of the values that a resource sends to other hosts.
func (rd *Reader) exports(r *manifest.Resource, n *yamlpos.Node) {
	list := keys.Given(n.Get("export"))
	if list == nil || list.Kind != yamlpos.List {
		return
	}
	known := map[string]bool{}
	for _, item := range list.Items {
		unknown := reference.CheckValue(rd.Registry, r.Type, item)
		switch {
		case item.Kind != yamlpos.Scalar:
		case r.Applies():
			rd.Report.Add(item.Errorf("write the key in the resources of the applied manifest", "a resource that applies a manifest has no values"))
		case rd.Values.IsOpen(item):
			rd.Report.Add(item.Errorf("", `"export" needs literal names, not expressions`))
		case unknown != nil:
			rd.Report.Add(unknown)
		case known[item.Text]:
			rd.Report.Add(item.Errorf("", "%q is exported twice", item.Text))
		default:
			known[item.Text] = true
			r.Exports = append(r.Exports, item)
		}
	}
}

// checkReceiving does the work of [Reader.checkProperties] while received values are unknown.
func (rd *Reader) checkReceiving(r *manifest.Resource, guessed map[*yamlpos.Node]bool) {
	received := r.Received()
	if len(received) == 0 {
		rd.checkProperties(r, guessed)
		return
	}
	with := *r
	var unknown map[*yamlpos.Node]bool
	with.Properties.Node, unknown = manifest.WithUnknown(r.Properties.Node, received)
	maps.Copy(unknown, guessed)
	rd.checkProperties(&with, unknown)
	for _, name := range r.Requirements().Downloads {
		if slices.Contains(received, name) {
			rd.Report.Add(r.Name.Node.Errorf("let the host download it", "%q cannot be received: the controller needs it", name))
		}
	}
}
