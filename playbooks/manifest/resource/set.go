package resource

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// checkSet checks a resource that sets values of the data. Its keys must be known before any host is, since the data
// that later resources read depends on them.
func (p parts) checkSet(rd *Reader, r *manifest.Resource) {
	if !manifest.Sets(r.Type) {
		return
	}
	switch data := r.DataGiven(); {
	case data == nil && len(p.guessed) > 0: // a misspelled key may be it
	case data == nil:
		rd.Report.Add(r.Name.Node.Errorf("write data: {key: value}", `"set" needs "data", the values to set`))
	case data.Kind != yamlpos.Map:
		rd.Report.Add(data.Errorf("write data: {key: value}", `"data" must be a map with fixed keys, not %s`, data.Describe()))
	default:
		for _, pair := range data.Pairs {
			if r.Properties.Open(pair.Key) {
				rd.Report.Add(pair.Key.Errorf("write each key as it is; only values can be expressions", `a key of "set" cannot contain an expression`))
			}
		}
	}
	for _, pair := range p.common.Pairs {
		switch key := pair.Key.Text; {
		case keys.Given(pair.Value) == nil || pair.Value.Value == false:
		case key == "on", key == "once":
			rd.Report.Add(pair.Key.Errorf("remove the key: each host has values of its own", "%q cannot be set for a resource that sets values", key))
		case key == "recv":
			rd.Report.Add(pair.Key.Errorf(`write register: NAME at the other resource, and read "{{ Results.NAME.stdout_trimmed }}"`, `a resource that sets values cannot use "recv"`))
		}
	}
}
