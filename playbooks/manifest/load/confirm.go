package load

import (
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// confirm reads a play's settings for changes that have to be confirmed.
func (f *file) confirm(n *yamlpos.Node, k *keys.Play) manifest.Confirm {
	c := manifest.Confirm{Mode: wire.ConfirmMode(k.Confirm), Within: time.Duration(k.Within), Boot: k.Boot}
	mode := keys.Scalar(n.Get("confirm"))
	if mode != nil {
		f.report.Add(keys.CheckConfirm(mode))
	}
	if within := keys.Scalar(n.Get("confirm_within")); within != nil && (c.Within < wire.MinConfirmWithin || c.Within > wire.MaxConfirmWithin) {
		var d keys.Seconds
		if d.UnmarshalText([]byte(within.Text)) == nil { // otherwise decoding has reported it
			f.report.Add(within.Errorf("write something like 60s", `"confirm_within" must be from 5s to 1h, not %s`, within.Text))
		}
	}
	if k.History != nil && !*k.History && c.Mode == wire.ConfirmAlways {
		f.report.Add(mode.Errorf("remove one of them", `"confirm" cannot be always, because history: false saves no state that could be restored`))
	}
	via := keys.Given(n.Get("confirm_via"))
	if via == nil || via.Kind != yamlpos.List {
		return c
	}
	c.Via = f.values.Optional(n, "confirm_via")
	if len(via.Items) == 0 {
		f.report.Add(via.Errorf(`remove "confirm_via" to use the address of the inventory`, `"confirm_via" has no address`))
	}
	for _, item := range via.Items {
		if item.Kind == yamlpos.Scalar && !f.values.IsOpen(item) {
			_, err := manifest.ParseVia(item)
			f.report.Add(err)
		}
	}
	return c
}
