package load

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// maxIncludes bounds how deep manifests may include each other.
const maxIncludes = 10

// include reads the plays of another file. They keep their own folder. The including play's hosts, escalation and
// batches replace theirs, its data overrides theirs, and its tags are added to theirs.
func (f *file) include(ctx context.Context, p *manifest.Play, n, path *yamlpos.Node, over ordering) []*manifest.Play {
	for _, pair := range n.Pairs {
		if key := pair.Key.Text; slices.Contains(keys.NotBesideInclude, key) {
			f.report.Add(pair.Key.Errorf("write it into the included manifest", `%q cannot be used together with "include"`, key))
		}
	}
	if f.values.LiteralText("include", path) == nil {
		return nil
	}
	inner := f.run.file(f.at.Resolve(path.Text), nil)
	inner.includes = append(slices.Clone(f.includes), f.at.Name())
	if err := inner.checkIncludes(path); err != nil {
		f.report.Add(err)
		return nil
	}
	f.noteNamed(path.Text)
	documents, err := f.at.Documents(ctx, path, "manifest", f.run.manifestOptions(f.at)...)
	if err != nil {
		f.report.Add(err)
		return nil
	}
	plays := inner.documents(ctx, documents, over.overlaid(p, n))
	f.report.Include(inner.report)
	if keys.Given(n.Get("name")) != nil && len(plays) > 1 {
		f.report.Add(n.Get("name").Errorf(`remove "name": each play has its own name`, "one name is given for the %d plays of %s", len(plays), inner.at.Name()))
	}
	for _, one := range plays {
		if one.Rollout != nil && cmp.Or(f.run.rollout, over.rollout, keys.Given(n.Get("rollout"))) == nil {
			f.besideIncluded(n, one)
		}
		overlay(one, p, n)
		one.Included = append([]*yamlpos.Node{path}, one.Included...)
	}
	return plays
}

// checkIncludes refuses a file that includes itself, and a chain that is too long. at is
// the place that includes the file.
func (f *file) checkIncludes(at *yamlpos.Node) error {
	name := f.at.Name()
	switch chain := strings.Join(append(slices.Clone(f.includes), name), " → "); {
	case slices.Contains(f.includes, name):
		return at.Errorf("", "circular include: %s", chain)
	case len(f.includes) > maxIncludes:
		return at.Errorf("", "manifests include each other more than %d levels deep: %s", maxIncludes, chain)
	}
	return nil
}

// overlaid returns the ordering with the including play's settings applied. They decide which references are valid, so
// they must be known before references are read.
func (over ordering) overlaid(p *manifest.Play, n *yamlpos.Node) ordering {
	if keys.Given(n.Get("strategy")) != nil {
		over.strategy = p.Strategy
	}
	if keys.Given(n.Get("parallel")) != nil {
		over.parallel = p.Parallel
	}
	over.rollout = cmp.Or(over.rollout, keys.Given(n.Get("rollout")))
	return over
}

// besideIncluded refuses to lay serial and the like over a play that has a rollout.
func (f *file) besideIncluded(n *yamlpos.Node, p *manifest.Play) {
	for _, pair := range n.Pairs {
		if insteadOf[pair.Key.Text] != "" && keys.Given(pair.Value) != nil {
			f.report.Add(pair.Key.Errorf(`write "rollout" in this play: it replaces the rollout of the included play`, "%q cannot override the rollout of %s", pair.Key.Text, p.Rollout.At.Pos()))
		}
	}
}

// overlay applies the including play's settings to an included one. A play with a rollout has no other setting for how
// it proceeds through its hosts.
func overlay(p, over *manifest.Play, n *yamlpos.Node) {
	for key, set := range map[string]func(){
		"name":                func() { p.Name = over.Name },
		"hosts":               func() { p.Hosts = over.Hosts },
		"become":              func() { p.Become = over.Become },
		"become_user":         func() { p.BecomeUser = over.BecomeUser },
		"become_method":       func() { p.BecomeMethod = over.BecomeMethod },
		"serial":              func() { p.Serial = over.Serial },
		"max_fail_percentage": func() { p.MaxFail = over.MaxFail },
		"any_errors_fatal":    func() { p.AnyFatal = over.AnyFatal },
		"hostfacts":           func() { p.HostFacts = over.HostFacts },
		"facts":               func() { p.AskedFacts = slices.Concat(p.AskedFacts, over.AskedFacts) },
		"confirm":             func() { p.Confirm.Mode = over.Confirm.Mode },
		"confirm_within":      func() { p.Confirm.Within = over.Confirm.Within },
		"confirm_via":         func() { p.Confirm.Via = over.Confirm.Via },
		"confirm_boot":        func() { p.Confirm.Boot = over.Confirm.Boot },
		"watch":               func() { p.Watch = slices.Concat(p.Watch, over.Watch) },
	} {
		if keys.Given(n.Get(key)) != nil && (p.Rollout == nil || insteadOf[key] == "") {
			set()
		}
	}
	p.Tags = append(slices.Clone(p.Tags), over.Tags...)
	p.Over = append(p.Over, over.Data)
	p.Inherit()
}

// data gathers the parts from which a host's data is resolved.
func (f *file) data(ctx context.Context, n *yamlpos.Node) templates.Source {
	src, err := templates.ParseSource(templates.Parts{
		Data: n.Get("data"), Files: f.varsFiles(ctx, n.Get("vars_files")),
		Hierarchy: n.Get("hierarchy"), Overrides: n.Get("overrides"),
	})
	f.report.Add(err)
	f.report.Warnings = append(f.report.Warnings, src.Warnings()...)
	return src
}

// varsFiles reads the maps in data files. The files may be in any folder, since no host can influence their names.
func (f *file) varsFiles(ctx context.Context, n *yamlpos.Node) []*yamlpos.Node {
	if n == nil {
		return nil
	}
	var files []*yamlpos.Node
	for _, item := range n.Items {
		if item.Kind != yamlpos.Scalar || f.values.LiteralText(`a file of "vars_files"`, item) == nil {
			continue
		}
		files = append(files, f.mapIn(ctx, item, `file of "vars_files"`, "write key: value", yamlpos.Secrets(), yamlpos.KeepSealed(f.run.openerOf(f.at)))...)
	}
	return files
}

// mapIn reads the map in the YAML file that at names. An empty file has none. kind and hint are for errors.
func (f *file) mapIn(ctx context.Context, at *yamlpos.Node, kind, hint string, options ...yamlpos.ParseOption) []*yamlpos.Node {
	f.noteNamed(at.Text)
	documents, err := f.at.Documents(ctx, at, "file", options...)
	switch {
	case err != nil:
		f.report.Add(err)
	case len(documents) > 1:
		f.report.Add(documents[1].Errorf("", "a %s must contain one document", kind))
	case len(documents) == 1 && keys.Given(documents[0]) != nil && documents[0].Kind != yamlpos.Map:
		f.report.Add(documents[0].Errorf(hint, "a %s must be a map, not %s", kind, documents[0].Describe()))
	case len(documents) == 1:
		return documents
	}
	return nil
}
