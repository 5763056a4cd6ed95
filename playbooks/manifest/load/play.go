package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/resource"
)

// plays reads what stands in the place of one play: itself, or those that it
// includes.
func (f *file) plays(ctx context.Context, n *yamlpos.Node, over ordering) []*manifest.Play {
	var k keys.Play
	if f.playbook(ctx, n, &k) {
		return nil
	}
	f.report.Decode(f.withoutForeign(n), &k)
	p := &manifest.Play{
		Name:         cmp.Or(k.Name, f.at.Title()),
		File:         f.at.Name(),
		Folder:       f.at.Folder(),
		Hosts:        keys.Scalar(n.Get("hosts")),
		Become:       k.Become,
		BecomeUser:   k.BecomeUser,
		BecomeMethod: k.Method,
		Tags:         k.Tags,
		FailOnError:  k.CCM.FailOnError,
		MaxFail:      f.percentage(keys.Given(n.Get("max_fail_percentage")), k.MaxFail),
		Serial:       f.serial(keys.Given(n.Get("serial"))),
		Data:         f.data(n),
		Registry:     f.run.registry,
		PerHost:      perHost{f.run, f.at, f.applies},
	}
	if m := keys.Given(n.Get("become_method")); m != nil && m.Kind == yamlpos.Scalar && !slices.Contains([]string{"sudo", "su", "doas"}, m.Text) {
		f.report.Add(m.Errorf("write sudo, su or doas", "become_method %q is not known", m.Text))
	}
	f.values.LiteralTags(n.Get("tags"))
	f.strategy(p, n, &k, over)
	p.RememberedAs = f.rememberedAs(keys.Given(n.Get("remembered_as")))
	if include := keys.Given(n.Get("include")); include != nil {
		return f.include(ctx, p, n, include, over)
	}
	f.ccm(ctx, p, n)
	return []*manifest.Play{p}
}

// playbook reports that n is a playbook of Ansible, with all else that is wrong with its
// keys: nothing of it runs. It reports nothing, and is false, if n is none.
func (f *file) playbook(ctx context.Context, n *yamlpos.Node, into any) bool {
	first := slices.IndexFunc(n.Pairs, func(p yamlpos.Pair) bool { return ansible.PlaybookKeys[p.Key.Text] != "" })
	if first < 0 {
		return false
	}
	key := n.Pairs[first].Key.Text
	f.report.Add(n.Errorf(fmt.Sprintf("here a play has %s in place of %s; see docs/from-ansible.md", ansible.PlaybookKeys[key], key), "this is a playbook of Ansible"))
	rest := *n
	rest.Pairs = slices.Delete(slices.Clone(n.Pairs), first, first+1)
	f.report.Decode(f.withoutForeign(&rest), into)
	f.serial(keys.Given(n.Get("serial")))
	f.values.LiteralTags(n.Get("tags"))
	if keys.Given(n.Get("ccm")) != nil {
		f.ccm(ctx, &manifest.Play{}, n)
	}
	return true
}

// ccm reads the section that makes a play a manifest.
func (f *file) ccm(ctx context.Context, p *manifest.Play, n *yamlpos.Node) {
	ccm := keys.Given(n.Get("ccm"))
	if ccm == nil {
		f.report.Add(n.Errorf("a play needs ccm: {resources: [...]}", "there is no ccm section"))
		return
	}
	if ccm.Kind != yamlpos.Map { // which decoding has reported
		return
	}
	p.Pre, p.Post = f.values.Optional(ccm, "pre_message"), f.values.Optional(ccm, "post_message")
	remembered := !f.isNested() && keys.Given(n.Get("remembered_as")) != nil
	resources, jetFile := keys.Given(ccm.Get("resources")), keys.Given(ccm.Get("resources_jet_file"))
	switch {
	case jetFile != nil && resources != nil:
		f.report.Add(jetFile.Errorf("keep one of them", "resources_jet_file and resources cannot be used together"))
	case jetFile != nil:
		p.JetFile = f.values.LiteralText("resources_jet_file", jetFile)
	case resources == nil && hasUnknown(ccm): // perhaps that was meant
	case resources != nil && resources.Kind == yamlpos.List && len(resources.Items) == 0 && remembered: // all that it had is undone
	case resources == nil, resources.Kind == yamlpos.List && len(resources.Items) == 0:
		f.report.Add(cmp.Or(resources, ccm).Errorf("", "manifest must contain resources"))
	case resources.Kind != yamlpos.List:
		f.report.Add(resources.Errorf("write a list: - file: [...]", "resources is not a list"))
	default:
		p.Resources = f.resources(ctx, resources, remembered, p.Graph())
	}
}

// hasUnknown reports whether a ccm section has keys that decoding has refused.
func hasUnknown(ccm *yamlpos.Node) bool {
	return slices.ContainsFunc(ccm.Pairs, func(p yamlpos.Pair) bool { return !slices.Contains(keys.OfCCM, p.Key.Text) })
}

// resources reads a list of resources, and the manifests that they apply.
func (f *file) resources(ctx context.Context, list *yamlpos.Node, remembered, graph bool) []*manifest.Resource {
	reader := &resource.Reader{
		Registry: f.run.registry, Report: f.report, Values: f.values,
		Nested: f.isNested(), Remembered: remembered, Apply: f.apply,
	}
	all := reader.List(ctx, list)
	if !f.isNested() { // what a nested one refers to may stand in those that apply it
		f.expand(all)
		f.checkReferences(all, graph)
	}
	return all
}

// checkReferences checks every literal reference between resources, and those of the
// manifests that they apply.
func (f *file) checkReferences(all []*manifest.Resource, graph bool) {
	index := manifest.NewIndex(all, f.run.registry, graph)
	f.report.Add(index.Check())
	if graph && len(f.report.Errors) == 0 {
		f.report.Add(index.CheckGraph())
	}
}

// percentage checks the bounds of a share.
func (f *file) percentage(n *yamlpos.Node, share *float64) *float64 {
	if share != nil && !(*share >= 0 && *share <= 100) { // so that .nan is refused too
		f.report.Add(n.Errorf("", "%s is outside 0-100", n.Text))
	}
	return share
}

// serial reads batch sizes.
func (f *file) serial(n *yamlpos.Node) []manifest.BatchSize {
	if n == nil {
		return nil
	}
	items := []*yamlpos.Node{n}
	if n.Kind == yamlpos.List {
		items = n.Items
	}
	var sizes []manifest.BatchSize
	for _, item := range items {
		size, ok := manifest.ParseBatchSize(item)
		if !ok {
			f.report.Add(item.Errorf("write a number of hosts or a percentage: serial: [1, 10%, 100%]", "%s is no batch size", item.Describe()))
		}
		sizes = append(sizes, size)
	}
	return sizes
}
