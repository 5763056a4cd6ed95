package resource

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// elsewhere reads where a resource runs, and for which hosts at once, and refuses what goes only
// where it is for.
func (rd *Reader) elsewhere(r *manifest.Resource, n *yamlpos.Node) {
	if manifest.Sets(r.Type) { // its values are for this host, also in a block that runs elsewhere
		r.Once = false
		return
	}
	r.On = rd.Values.Optional(n, "on")
	if r.On == nil {
		r.On = rd.on
	}
	word, at := "on", n.Get("once")
	switch r.Once = r.Once || rd.once != nil; {
	case r.Type.Name == manifest.BlockType().Name: // sets it for the resources in it
		r.On, r.Once = nil, false
		return
	case r.On != nil:
		at = r.On.Node
	case r.Once:
		word = "once"
		if at == nil {
			at = rd.once
		}
	default:
		return
	}
	if r.Applies() {
		rd.Report.Add(at.Errorf("write the key in the resources of the applied manifest", "%q cannot be set for a resource that applies a manifest", word))
		return
	}
	for _, pair := range n.Pairs {
		key := pair.Key.Text
		if slices.Contains(notElsewhere, key) && keys.Common(r.Type, key) && keys.Given(pair.Value) != nil && pair.Value.Value != false {
			rd.Report.Add(pair.Key.Errorf("write a separate play for the host that runs this resource", "the key %q cannot be used together with the key %q", key, word))
		}
	}
}

// elsewhereOf reads a block's setting for where its resources run; n has its keys.
func (rd *Reader) elsewhereOf(n *yamlpos.Node) {
	if on := rd.Values.Optional(n, "on"); on != nil {
		rd.on = on
	}
	var b bool
	if once := keys.Given(n.Get("once")); once != nil && yamlpos.Decode(once, &b) == nil && b {
		rd.once = once
	}
}

// notElsewhere lists keys that concern the host that a resource is for, or other hosts.
var notElsewhere = []string{"recv", "export", "sema", "reverse"}
