package resource

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// healthValue compiles the expressions in the health checks of a resource, those in
// the keys of maps that are values among them.
func (rd *Reader) healthValue(n *yamlpos.Node) *manifest.Value {
	checks := keys.Given(n.Get("health_checks"))
	if checks == nil {
		return nil
	}
	var parts []*yamlpos.Node
	for _, item := range checks.Items {
		parts = append(parts, values(item)...)
	}
	v := rd.Values.WithKeys(checks, parts...)
	return &v
}

// healthChecks checks those health checks of a resource that hold no expressions;
// the others are looked at per host.
func (rd *Reader) healthChecks(v *manifest.Value) {
	if v == nil || v.Node.Kind != yamlpos.List {
		return
	}
	before := len(rd.Report.Errors)
	var open func(*yamlpos.Node) bool
	open = func(n *yamlpos.Node) bool {
		if v.Open(n) {
			return true
		}
		for _, item := range n.Items {
			if open(item) {
				return true
			}
		}
		for _, pair := range n.Pairs {
			if v.Open(pair.Key) || open(pair.Value) {
				return true
			}
		}
		return false
	}
	for _, item := range v.Node.Items {
		if item.Kind != yamlpos.Map || open(item) {
			continue
		}
		var c health.Check
		if err := yamlpos.Decode(item, &c); err != nil {
			continue // which has been reported with the other keys
		}
		_, err := manifest.CompileHealth(item, &c)
		rd.Report.Add(err)
	}
	if n := len(v.Node.Items); len(rd.Report.Errors) == before && n > health.MaxChecks {
		rd.Report.Add(manifest.TooManyHealthChecks(v.Node))
	}
}
