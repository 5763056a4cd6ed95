package resource

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// common reads the keys that every type has.
func (rd *Reader) common(r *manifest.Resource, n *yamlpos.Node) {
	r.Alias = rd.Values.Optional(n, "alias")
	r.Require = rd.Values.Optional(n, "require")
	r.Subscribe = rd.Values.Optional(n, "subscribe")
	r.Before = rd.Values.Optional(n, "before")
	r.Notify = rd.Values.Optional(n, "notify")
	r.Each = rd.Values.Optional(n, "each")
	r.Noop = rd.Values.Optional(n, "noop")
	r.Sensitive = rd.Values.Optional(n, "sensitive")
	r.Health = rd.healthValue(n)
	register := rd.Values.Optional(n, "register_when_stable")
	var k keys.Resource
	rd.meta(r, n)
	rd.Report.Decode(n, &k, yamlpos.Open(func(n *yamlpos.Node) bool { return r.Open(n) || register != nil && register.Open(n) }))
	r.Tags = k.Tags
	rd.receives(r, n)
	rd.exports(r, n)
	if control := n.Get("control"); control != nil {
		r.If = rd.Values.Condition("control.if", keys.Given(control.Get("if")))
		r.Unless = rd.Values.Condition("control.unless", keys.Given(control.Get("unless")))
	}
	rd.Values.LiteralTags(n.Get("tags"))
	rd.checkEach(r.Each)
	rd.healthChecks(r.Health)
	if list := n.Get("register_when_stable"); list != nil && list.Kind == yamlpos.List {
		rd.Report.Add(keys.CheckRegistrations(list, rd.Values.IsOpen))
		rd.Report.WarnOnce(list, "register_when_stable is checked, and then ignored: a push has no registry to publish to")
	}
	if _, ok := r.Type.New().(modules.Refresher); !ok && r.Subscribe != nil {
		rd.Report.Add(r.Subscribe.Node.Errorf("use require for the order", "type %s has no refresh, so it cannot subscribe", r.Type.Name))
	}
}

func (rd *Reader) checkEach(each *manifest.Value) {
	if each == nil || each.Node.Kind == yamlpos.List || each.Open(each.Node) {
		return
	}
	rd.Report.Add(each.Node.Errorf(`write a list, or an expression that gives one: each: "{{ Data.sites }}"`, "each must be a list, not %s", each.Node.Describe()))
}
