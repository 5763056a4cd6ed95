package resource

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// meta reads what stands in the common keys of a resource.
func (rd *Reader) meta(r *manifest.Resource, n *yamlpos.Node) {
	own := *n
	own.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p yamlpos.Pair) bool {
		return !slices.Contains(keys.OfMeta, p.Key.Text) || keys.Given(p.Value) == nil
	})
	if len(own.Pairs) == 0 {
		return
	}
	v := rd.Values.Value(&own)
	r.Meta = &v
	rd.Report.Add(keys.CheckMeta(&own, v.Open))
	rd.checkReverse(r, &own)
	if !r.Applies() {
		return
	}
	for _, pair := range own.Pairs {
		hint := "write it at the resources of that manifest"
		switch pair.Key.Text {
		case "autoedge":
			continue
		case "reverse":
			hint = "write the resources that are to be undone into the play itself"
		}
		rd.Report.Add(pair.Key.Errorf(hint, "%s has no meaning for a resource that applies a manifest", pair.Key.Text))
	}
}

// checkReverse refuses what could not be undone, whatever the host has. n are the common
// keys of the resource.
func (rd *Reader) checkReverse(r *manifest.Resource, n *yamlpos.Node) {
	pair := slices.IndexFunc(n.Pairs, func(p yamlpos.Pair) bool { return p.Key.Text == "reverse" })
	if pair < 0 || n.Pairs[pair].Value.Value == false || r.Applies() {
		return
	}
	at := n.Pairs[pair].Key
	_, can := r.Type.New().(modules.Reverser)
	switch {
	case !can:
		rd.Report.Add(at.Errorf("these can: "+strings.Join(rd.Registry.Reversers(), ", "), "type %s cannot be undone", r.Type.Name))
	case rd.Nested:
		rd.Report.Add(at.Errorf("write the resource into the play itself: which resources a nested manifest has is not always known", "reverse cannot stand in a nested manifest"))
	case !rd.Remembered:
		rd.Report.Add(at.Errorf("write remembered_as: OWNER/NAME in the play, a name that no other manifest for its hosts has", "reverse needs a name by which hosts remember the play"))
	}
}
