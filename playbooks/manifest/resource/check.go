package resource

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// Check makes a resource that does nothing and has one health check, which stands by itself.
func (rd *Reader) Check(name string, check *yamlpos.Node) *manifest.Resource {
	list := &yamlpos.Node{File: check.File, Line: check.Line, Column: check.Column, Kind: yamlpos.List, Items: []*yamlpos.Node{check}}
	asked := rd.Values.WithKeys(list, values(check)...)
	var k struct {
		Check health.Check `json:"check" hint:"write check: {command: /usr/lib/nagios/plugins/check_http -H web}"`
	}
	rd.Report.Decode(yamlpos.Under("check", check), &k, yamlpos.Open(asked.Open))
	rd.healthChecks(&asked)
	t, ok := rd.Registry.Lookup("exec")
	if !ok {
		rd.Report.Add(check.Errorf("", "the check needs the type exec, which this program does not have"))
		return nil
	}
	nothing := yamlpos.From(check, map[string]any{"command": "true", "refreshonly": true})
	return &manifest.Resource{
		Type: t, Name: manifest.Literal(yamlpos.From(check, name)), Properties: manifest.Literal(nothing), Health: &asked,
	}
}
