package resource

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// common reads the keys that every type has.
func (rd *Reader) common(ctx context.Context, r *manifest.Resource, n *yamlpos.Node) {
	r.Alias = rd.Values.Optional(n, "alias")
	r.Require = rd.Values.Optional(n, "require")
	r.Subscribe = rd.Values.Optional(n, "subscribe")
	r.Before = rd.Values.Optional(n, "before")
	r.Notify = rd.Values.Optional(n, "notify")
	r.Each = rd.Values.Optional(n, "each")
	r.Vars = rd.Values.Vars(r, n)
	r.Noop = rd.Values.Optional(n, "noop")
	r.Sensitive = rd.Values.Optional(n, "sensitive")
	r.Health = rd.healthValue(ctx, n)
	r.Registers = rd.Values.Optional(n, "register_when_stable")
	var k keys.Resource
	rd.meta(r, n)
	rd.Report.Decode(n, &k, yamlpos.Open(r.Open))
	r.Tags = k.Tags
	rd.receives(r, n)
	rd.exports(r, n)
	rd.registers(r, n)
	if control := n.Get("control"); control != nil {
		r.If = rd.Values.Conditions("control.if", keys.Given(control.Get("if")))
		r.Unless = rd.Values.Conditions("control.unless", keys.Given(control.Get("unless")))
	}
	r.Once = k.Once
	rd.elsewhere(r, n)
	rd.Values.LiteralTags(n.Get("tags"))
	rd.checkEach(r.Each)
	rd.healthChecks(r.Health)
	rd.registrations(n)
	if _, ok := r.Type.New().(modules.Refresher); !ok && r.Subscribe != nil {
		rd.Report.Add(r.Subscribe.Node.Errorf(`use "require" for the order`, "type %s has no refresh, so it cannot subscribe", r.Type.Name))
	}
}

func (rd *Reader) registrations(n *yamlpos.Node) {
	if list := n.Get("register_when_stable"); list != nil && list.Kind == yamlpos.List {
		rd.Report.Add(keys.CheckRegistrations(list, rd.Values.IsOpen))
	}
}

func (rd *Reader) checkEach(each *manifest.Value) {
	if each == nil || each.Node.Kind == yamlpos.List || each.Open(each.Node) {
		return
	}
	rd.Report.Add(each.Node.Errorf(`write a list, or an expression that returns a list: each: "{{ Data.sites }}"`, `the value of "each" must be a list, not %s`, each.Node.Describe()))
}

// meta reads the common keys of a resource.
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
	rd.watch(r.Type, own.Get("watch"), v.Open)
	rd.checkReverse(r, &own)
	if !r.Applies() {
		return
	}
	for _, pair := range own.Pairs {
		hint := "write the key in the resources of the applied manifest"
		switch pair.Key.Text {
		case "autoedge", "watch":
			continue
		case "reverse":
			hint = `move the resources with "reverse" into the play itself`
		}
		rd.Report.Add(pair.Key.Errorf(hint, "%q cannot be set for a resource that applies a manifest", pair.Key.Text))
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
	case manifest.IsEvent(r.Type, r.Properties.Node):
		rd.Report.Add(at.Errorf(`remove "reverse", or write it in a resource without refreshonly`, "an event has no state that could be restored"))
	case rd.Nested:
		rd.Report.Add(at.Errorf("move the resource into the play itself: the resources of a nested manifest are not always known", `the key "reverse" cannot be used in a nested manifest`))
	case !rd.Remembered:
		rd.Report.Add(at.Errorf("write remembered_as: OWNER/NAME in the play, with a name that no other manifest for the same hosts has", `"reverse" is set, but the play has no key "remembered_as"`))
	}
}

// healthValue compiles the expressions in the health checks of a resource, also those in keys of maps that are values.
func (rd *Reader) healthValue(ctx context.Context, n *yamlpos.Node) *manifest.Value {
	checks := keys.Given(n.Get("health_checks"))
	if checks == nil {
		return nil
	}
	checks = rd.withGossfiles(ctx, checks)
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
