package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/resource"
)

// plays reads the plays of one entry: the play itself, or the plays that it includes.
func (f *file) plays(ctx context.Context, n *yamlpos.Node, over ordering) []*manifest.Play {
	var k keys.Play
	if !f.secretsInPlace(n) {
		return nil
	}
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
		Strict:       k.Strict,
		Defaults:     n.Get("defaults"),
		NoHistory:    k.History != nil && !*k.History,
		MaxFail:      f.percentage(keys.Given(n.Get("max_fail_percentage")), k.MaxFail),
		Serial:       f.serial(keys.Given(n.Get("serial"))),
		AnyFatal:     k.AnyFatal,
		HostFacts:    f.hostFacts(n.Get("hostfacts")),
		AskedFacts:   f.askedFacts(n.Get("facts")),
		Data:         f.data(ctx, n),
		Registry:     f.run.registry,
		PerHost:      perHost{f.run, f.at, f.applies},
	}
	if m := keys.Given(n.Get("become_method")); m != nil && m.Kind == yamlpos.Scalar && !slices.Contains([]string{"sudo", "su", "doas"}, m.Text) {
		f.report.Add(m.Errorf("write sudo, su or doas", `"become_method" cannot be %q`, m.Text))
	}
	f.values.LiteralTags(n.Get("tags"))
	f.strategy(p, n, &k, over)
	f.besideRollout(n)
	p.Confirm = f.confirm(n, &k)
	p.Watch = f.watch(n)
	p.RememberedAs = f.rememberedAs(keys.Given(n.Get("remembered_as")))
	if include := keys.Given(n.Get("include")); include != nil {
		return f.include(ctx, p, n, include, over)
	}
	f.ccm(ctx, p, n)
	f.rollout(ctx, p, keys.Given(n.Get("rollout")), over.rollout)
	return []*manifest.Play{p}
}

// secretsInPlace reports the secrets in a play outside of its data. If there are any nothing
// else is read, since errors would quote them.
func (f *file) secretsInPlace(n *yamlpos.Node) bool {
	var errs yamlpos.Errors
	for _, pair := range n.Pairs {
		if pair.Key.Text != "data" && pair.Key.Text != "overrides" {
			pair.Value.RefuseSecrets(&errs)
		}
	}
	f.report.Add(errs.Err())
	return len(errs) == 0
}

// playbook reports n as an Ansible playbook, together with the other errors in its keys, since nothing of it runs. If n
// is not one, it reports nothing and returns false.
func (f *file) playbook(ctx context.Context, n *yamlpos.Node, into any) bool {
	first := slices.IndexFunc(n.Pairs, func(p yamlpos.Pair) bool { return ansible.PlaybookKeys[p.Key.Text] != "" })
	if first < 0 {
		return false
	}
	key := n.Pairs[first].Key.Text
	f.report.Add(n.Errorf(fmt.Sprintf("in a manifest, write %s instead of %q; see docs/guide/from-ansible.md", ansible.PlaybookKeys[key], key), "this is an Ansible playbook, not a manifest"))
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
		f.report.Add(n.Errorf("a play needs ccm: {resources: [...]}", `the section "ccm" is missing`))
		return
	}
	if ccm.Kind != yamlpos.Map { // which decoding has reported
		return
	}
	p.Pre, p.Post = f.values.Optional(ccm, "pre_message"), f.values.Optional(ccm, "post_message")
	remembered := !f.isNested() && keys.Given(n.Get("remembered_as")) != nil
	f.reader(p, remembered).CheckDefaults(ctx)
	resources, jetFile := keys.Given(ccm.Get("resources")), keys.Given(ccm.Get("resources_jet_file"))
	switch {
	case jetFile != nil && resources != nil:
		f.report.Add(jetFile.Errorf("keep one of them", "resources_jet_file and resources cannot be used together"))
	case jetFile != nil:
		p.JetFile = f.values.LiteralText("resources_jet_file", jetFile)
	case resources == nil && hasUnknown(ccm): // perhaps that was meant
	case resources != nil && resources.Kind == yamlpos.List && len(resources.Items) == 0 && remembered: // everything that it had is undone
	case resources == nil, resources.Kind == yamlpos.List && len(resources.Items) == 0:
		f.report.Add(cmp.Or(resources, ccm).Errorf("", "manifest must contain resources"))
	case resources.Kind != yamlpos.List:
		f.report.Add(resources.Errorf("write a list: - file: [...]", `"resources" is not a list`))
	default:
		p.Resources = f.resources(ctx, p, resources, remembered)
	}
}

// hasUnknown reports whether a ccm section has keys that decoding has refused.
func hasUnknown(ccm *yamlpos.Node) bool {
	return slices.ContainsFunc(ccm.Pairs, func(p yamlpos.Pair) bool { return !slices.Contains(keys.OfCCM, p.Key.Text) })
}

// reader reads the resources of a play.
func (f *file) reader(p *manifest.Play, remembered bool) *resource.Reader {
	return &resource.Reader{
		Registry: f.run.registry, Report: f.report, Values: f.values,
		Nested: f.isNested(), Remembered: remembered, Strict: p.Strict, Defaults: p.Defaults,
		Folder: p.Folder, PerHost: p.PerHost, Apply: f.apply, Rules: f.gossfile,
	}
}

// resources reads a list of resources of a play, and the manifests that they apply.
func (f *file) resources(ctx context.Context, p *manifest.Play, list *yamlpos.Node, remembered bool) []*manifest.Resource {
	all := f.reader(p, remembered).List(ctx, list)
	if !f.isNested() { // targets of a nested manifest's references may be in the manifests that apply it
		f.expand(all)
		f.checkReferences(all, p.Graph())
	}
	return all
}

// checkReferences checks every literal reference between resources, also in the manifests that they apply.
func (f *file) checkReferences(all []*manifest.Resource, graph bool) {
	index := manifest.NewIndex(all, f.run.registry, graph)
	f.report.Add(index.Check())
	if graph && len(f.report.Errors) == 0 {
		f.report.Add(index.CheckGraph())
	}
}

// hostFacts reads patterns of hosts.
func (f *file) hostFacts(n *yamlpos.Node) []*yamlpos.Node {
	if n = keys.Given(n); n == nil {
		return nil
	}
	var patterns []*yamlpos.Node
	for _, item := range n.Items {
		if item.Kind == yamlpos.Scalar && f.values.LiteralText(`a host pattern under "hostfacts"`, item) != nil {
			patterns = append(patterns, item)
		}
	}
	return patterns
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
		size, ok := batchSize(item)
		if !ok {
			f.report.Add(item.Errorf("write a number of hosts or a percentage: serial: [1, 10%, 100%]", "%s is not a batch size", item.Describe()))
		}
		sizes = append(sizes, size)
	}
	return sizes
}

func batchSize(n *yamlpos.Node) (size manifest.BatchSize, ok bool) {
	if n.Kind != yamlpos.Scalar {
		return manifest.BatchSize{}, false
	}
	if share, isShare := strings.CutSuffix(n.Text, "%"); isShare {
		percent, err := strconv.ParseFloat(share, 64)
		return manifest.BatchSize{Percent: percent}, err == nil && percent > 0 && percent <= 100
	}
	count, err := strconv.Atoi(n.Text)
	return manifest.BatchSize{Count: count}, err == nil && count > 0
}

// defaultParallel is how many resources of a host run at once in a graph without that setting.
const defaultParallel = 4

// strategy reads the order of a play's resources. over has the settings of the including plays.
func (f *file) strategy(p *manifest.Play, n *yamlpos.Node, k *keys.Play, over ordering) {
	p.Strategy = k.Strategy
	if s := keys.Given(n.Get("strategy")); s != nil && s.Kind == yamlpos.Scalar && !slices.Contains([]string{manifest.Linear, manifest.Graph}, s.Text) {
		f.report.Add(s.Errorf("write linear for the order in the manifest, or graph for the order of the dependencies", `"strategy" cannot be %q`, s.Text))
		p.Strategy = manifest.Graph // in which fewer references are wrong
	}
	if over.strategy != "" {
		p.Strategy = over.strategy
	}
	p.Parallel = k.Parallel
	parallel := keys.Given(n.Get("parallel"))
	switch {
	case parallel == nil:
	case k.Parallel < 1 || k.Parallel > keys.MaxParallel:
		if _, whole := parallel.Value.(int64); whole { // otherwise decoding has reported it
			f.report.Add(parallel.Errorf("", `"parallel" must be from 1 to %[2]d, not %[1]s`, parallel.Text, keys.MaxParallel))
		}
	case !p.Graph() && keys.Given(n.Get("include")) == nil:
		f.report.Add(parallel.Errorf("write strategy: graph as well", `"parallel" has no effect on resources that run in the order written`))
	}
	if over.parallel != 0 {
		p.Parallel = over.parallel
	}
	if p.Graph() && p.Parallel == 0 {
		p.Parallel = defaultParallel
	}
}

// An ordering has an including play's settings for the order in the included plays, both of resources and of hosts.
type ordering struct {
	strategy string        // "" is nothing
	parallel int           // 0 is nothing
	rollout  *yamlpos.Node // nil means not set
}

// rememberedAs reads the name under which hosts remember a play. Expressions are not allowed, because hosts compare the
// name with the stored name.
func (f *file) rememberedAs(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || f.values.LiteralText("remembered_as", n) == nil {
		return nil
	}
	if err := wire.CheckRememberedAs(n.Text); err != nil {
		f.report.Add(n.Errorf("write something like acme/web-base", "%v", err))
	}
	return n
}

// onePlayEach refuses plays that hosts would take for one another: each would undo what
// the other one has.
func onePlayEach(plays []*manifest.Play) error {
	var errs yamlpos.Errors
	first := map[string]*yamlpos.Node{}
	for _, p := range plays {
		n := p.RememberedAs
		if n == nil {
			continue
		}
		if other := first[n.Text]; other != nil {
			errs.Add(n.Errorf(`give each play its own "remembered_as"`, "another play already has remembered_as: %s: %s", n.Text, other.Pos()))
			continue
		}
		first[n.Text] = n
	}
	return errs.Err()
}

// foreignHint returns the hint about the replacement of a key that a play does not have: a key of another tool, or of
// the ccm section. It is empty for all others.
func foreignHint(key string) string {
	if slices.Contains(keys.OfCCM, key) {
		return fmt.Sprintf(`%[1]q belongs below "ccm": write ccm: {%[1]s: ...}`, key)
	}
	if here := ansible.PlaybookKeys[key]; here != "" {
		return "write " + here
	}
	if hint := ansible.PlayKeys[key]; hint != "" {
		return hint
	}
	switch module, ok := ansible.Find(key); {
	case !ok || slices.Contains(keys.OfPlay, key):
		return ""
	case module.Type == key:
		return fmt.Sprintf(`resources belong below "ccm": write ccm: {resources: [%s: [...]]}`, key)
	default: // a file of tasks
		return module.Hint()
	}
}

// withoutForeign reports the keys of a play that have a [foreignHint], and returns n without them.
func (f *file) withoutForeign(n *yamlpos.Node) *yamlpos.Node {
	kept := *n
	kept.Pairs = nil
	for _, pair := range n.Pairs {
		if hint := foreignHint(pair.Key.Text); hint != "" {
			f.report.Add(pair.Key.Errorf(hint, "unknown key %q", pair.Key.Text))
			continue
		}
		kept.Pairs = append(kept.Pairs, pair)
	}
	return &kept
}
