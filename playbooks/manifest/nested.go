package manifest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/archive"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// Bounds of nested manifests.
const (
	maxNesting   = 10      // levels below a play
	maxManifests = 1000    // read by one run, each counted once
	maxNested    = 100_000 // resources of a play, those of nested manifests counted each time they are applied
)

// A nesting is the nested manifests of one run. Each is read once, whoever applies
// it.
type nesting struct {
	registry modules.Registry
	archives *archive.Unpacker // nil unpacks none

	mu    sync.Mutex // held while hosts are compiled for
	known map[string]*nested
	// instances are what [Play.Nested] has given; at most maxManifests.
	instances map[instanceKey]*Play
}

// An instanceKey is all that the copy of a manifest depends on which is applied
// only per host. Who applies it is no part of it: a template writes that anew for
// every host.
type instanceKey struct {
	parent        *Play
	of            *nested
	unconditional bool
	denied        bool
	tags          string
}

// A nested is a manifest that others apply, as it was read.
type nested struct {
	*Play
	err    error // why there is none, where it was first applied
	size   int   // resources, with those of the manifests it applies; at most maxNested+1
	height int   // levels of nested manifests below it
}

// applies reports whether a type stands for nested manifests.
func applies(t modules.Type) bool {
	_, ok := t.New().(modules.Nester)
	return ok
}

// nest decodes what a resource says of its nested manifest, as far as that is
// known. That the values fit has been checked.
func (r *Resource) nest() modules.Nest {
	res := r.Type.New()
	_ = yamlpos.Decode(r.Properties.Node, res, yamlpos.Open(r.Properties.Open))
	modules.SetName(res, r.manifest)
	return res.(modules.Nester).Nest()
}

// Applies reports whether the resource stands for a nested manifest.
func (r *Resource) Applies() bool { return applies(r.Type) }

// Unknown reports whether the resource applies a manifest whose resources are
// known only per host.
func (r *Resource) Unknown() bool { return r.Applies() && (r.Child == nil || r.Child.JetFile != nil) }

// Walk visits resources in the order in which they run: those of a nested manifest
// before the one that applies it. depth is 0 for those of the list.
func Walk(resources []*Resource, visit func(r *Resource, depth int)) { walk(resources, 0, visit) }

func walk(resources []*Resource, depth int, visit func(*Resource, int)) {
	for _, r := range resources {
		if r.Child != nil {
			walk(r.Child.Resources, depth+1, visit)
		}
		visit(r, depth)
	}
}

// flatten lists resources as [Walk] visits them, and how many right before each are what
// it applies.
func flatten(list []*Resource) (all []*Resource, within []int) {
	for _, r := range list {
		begin := len(all)
		if r.Child != nil {
			inner, counts := flatten(r.Child.Resources)
			all, within = append(all, inner...), append(within, counts...)
		}
		n := len(all) - begin
		all, within = append(all, r), append(within, n)
	}
	return all, within
}

// inner reads the manifest that a resource applies, unless that is known only per
// host. The loader's file is the one that the resource stands in.
func (l *loader) inner(r *Resource) {
	if !applies(r.Type) {
		return
	}
	r.manifest = r.Name.Node.Text
	l.add(r.CheckNested(nil))
	checksum := r.properties().Get("checksum")
	switch {
	case r.Name.HasExpressions(), l.nesting == nil:
		return
	case archive.IsURL(r.manifest): // from here on it is called by what may be shown
		shown := *r.Name.Node
		shown.Text = archive.ShownName(r.manifest)
		shown.Value = shown.Text
		r.Name = Literal(&shown)
	}
	if l.marked != nil || checksum != nil && r.Properties.Open(checksum) || l.reported(r) {
		return
	}
	n := l.nested(l.runs, r.Name.Node, r.nest())
	r.known = n
	if l.add(n.err); n.err == nil {
		r.Child = n.Play
	}
}

// reported reports whether something is wrong with the name or the checksum of a
// resource already: to read the manifest would only repeat that.
func (l *loader) reported(r *Resource) bool {
	nodes := []*yamlpos.Node{r.Name.Node, r.properties().Get("checksum")}
	return slices.ContainsFunc(l.errs, func(e *yamlpos.Error) bool {
		return slices.ContainsFunc(nodes, func(n *yamlpos.Node) bool {
			return n != nil && e.File == n.File && e.Line == n.Line && e.Column == n.Column
		})
	})
}

// nested gives the manifest that stands at a path, seen from the loader's folder,
// or in an archive. at is the place that names it.
func (l *loader) nested(ctx context.Context, at *yamlpos.Node, nest modules.Nest) *nested {
	from, err := l.origin(at, nest)
	if err != nil {
		return &nested{err: err}
	}
	chain := append(slices.Clone(l.applied), from.shown)
	if err := l.checkChain(at, chain); err != nil {
		return &nested{err: err}
	}
	x := l.nesting
	if n := x.known[from.key]; n != nil {
		return n
	}
	if len(x.known) == maxManifests {
		return &nested{err: at.Errorf("", "more than %d manifests are applied", maxManifests)}
	}
	n := &nested{}
	x.known[from.key] = n
	data, err := from.read(ctx, x.archives)
	if err != nil {
		n.err = unreadable(at, err)
		if ctx.Err() != nil { // another host may have more time
			delete(x.known, from.key)
		}
		return n
	}
	inner := newLoader(from.file, x.registry)
	inner.file, inner.applied, inner.confined = from.shown, chain, from.confined
	inner.nesting, inner.runs, inner.isNested = x, ctx, true
	n.Play = inner.nestedManifest(data)
	l.warnings = append(l.warnings, inner.warnings...)
	if l.errs = append(l.errs, inner.errs...); len(inner.errs) > 0 && l.compiling {
		n.err = inner.errs.Err()
	}
	n.measure()
	return n
}

// checkChain refuses manifests that apply themselves, and those nested too deeply.
// chain ends with the one in question.
func (l *loader) checkChain(at *yamlpos.Node, chain []string) error {
	last := len(chain) - 1
	switch shown := strings.Join(chain, " → "); {
	case slices.Contains(chain[:last], chain[last]):
		return at.Errorf("a manifest cannot apply itself, not even through others", "circular apply: %s", shown)
	case last > maxNesting:
		return at.Errorf("", "maximum apply depth of %d exceeded: %s", maxNesting, shown)
	}
	return nil
}

// measure counts what the manifest comes to.
func (n *nested) measure() {
	if n.Play == nil {
		return
	}
	for _, r := range n.Resources {
		n.size++
		if r.known != nil {
			n.size = min(n.size+r.known.size, maxNested+1)
			n.height = max(n.height, r.known.height+1)
		}
	}
}

// nestedManifest reads the one manifest of a file; nil if there is none.
func (l *loader) nestedManifest(data []byte) *Play {
	documents, err := yamlpos.Parse(l.file, data)
	if err != nil {
		l.add(err)
		return nil
	}
	documents = slices.DeleteFunc(documents, func(n *yamlpos.Node) bool { return given(n) == nil })
	switch {
	case len(documents) == 0:
		l.add(fmt.Errorf("%s: the file is empty", l.file))
	case len(documents) > 1:
		l.add(documents[1].Errorf("write an apply resource for each", "a nested manifest is one document"))
	case documents[0].Kind == yamlpos.List:
		l.add(documents[0].Errorf("a play applies one manifest at a time; include takes a list of plays", "a nested manifest is no list of plays"))
	case documents[0].Kind != yamlpos.Map:
		l.add(documents[0].Errorf("a manifest is a map with a ccm section", "this is no manifest"))
	default:
		return l.nestedPlay(documents[0])
	}
	return nil
}

func (l *loader) nestedPlay(n *yamlpos.Node) *Play {
	var k keys.Nested
	if l.playbook(l.withoutPlayKeys(n), &k) {
		return nil
	}
	l.decode(l.withoutForeign(l.withoutPlayKeys(n)), &k)
	p := &Play{
		Name: l.name, File: l.file, Folder: l.folder,
		FailOnError: k.CCM.FailOnError, Data: l.data(n),
		registry: l.registry, nesting: l.nesting, applied: l.applied, confined: l.confined,
	}
	l.ccm(p, n)
	return p
}

// withoutPlayKeys reports the keys that say where and how a play runs, and leaves
// them out.
func (l *loader) withoutPlayKeys(n *yamlpos.Node) *yamlpos.Node {
	hints := map[string]string{
		"name":    "write alias at the resource that applies it",
		"tags":    "write tags at the resource that applies it, or at its resources",
		"include": "write an apply resource",
	}
	kept := *n
	kept.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(pair yamlpos.Pair) bool {
		key := pair.Key.Text
		hint := hints[key]
		switch {
		case slices.Contains(keys.OfNested, key), !slices.Contains(keys.OfPlay, key):
			return false
		case hint == "":
			hint = "write it at the play: a nested manifest runs as the play does that applies it"
		}
		l.add(pair.Key.Errorf(hint, "%s cannot stand in a nested manifest", key))
		return true
	})
	return &kept
}

// expand gives every resource that applies a manifest a copy of that of its own,
// down to the last one: what is selected, and what a reference means, depends on
// who applies it.
func (l *loader) expand(all []*Resource) {
	size := len(all)
	for _, r := range all {
		if r.known == nil {
			continue
		}
		deepest := append(slices.Clone(l.applied), r.known.deepest()...)
		size += r.known.size
		switch {
		case len(deepest)-1 > maxNesting:
			l.add(r.Name.Node.Errorf("", "maximum apply depth of %d exceeded: %s", maxNesting, strings.Join(deepest, " → ")))
			r.Child = nil
		case size > maxNested:
			l.add(r.Name.Node.Errorf("", "the play has more than %d resources, with those of the manifests that it applies", maxNested))
			r.Child = nil
			return
		}
	}
	for _, r := range all {
		if r.Child != nil {
			r.Child = l.instance(r, r.Child, l.applied)
		}
	}
}

// deepest is the longest chain of manifests that begins here.
func (n *nested) deepest() []string {
	if n.Play == nil {
		return nil
	}
	chain := []string{n.File}
	for _, r := range n.Resources {
		if r.known != nil && r.known.height == n.height-1 {
			return append(chain, r.known.deepest()...)
		}
	}
	return chain
}

// instance copies the manifest that a resource applies.
func (l *loader) instance(r *Resource, from *Play, chain []string) *Play {
	child := *from
	child.applied = append(slices.Clone(chain), from.File)
	child.Resources = make([]*Resource, len(from.Resources))
	denied := r.nest().Deny
	for i, one := range from.Resources {
		inner := *one
		child.Resources[i] = &inner
		inner.conditional = !r.Unconditional()
		if denied && inner.Applies() {
			l.add(Denied(&inner, r))
		}
		if inner.Child != nil {
			inner.Child = l.instance(&inner, inner.Child, child.applied)
		}
	}
	return &child
}

// Denied is the error of a resource that applies a manifest in one that may not;
// by is what applies that.
func Denied(r, by *Resource) error {
	return r.Name.Node.Errorf(by.Name.Node.Pos()+" applies this manifest with allow_apply: false", "apply resources are denied")
}

// Nested gives the manifest that a resource of the play applies when that could
// not be known before: nest is what the resource comes to for a host. It is the
// same for every host that asks with the same. The errors carry positions.
func (p *Play) Nested(ctx context.Context, r *Resource, at *yamlpos.Node, nest modules.Nest) (*Play, error) {
	if r.Child != nil {
		return r.Child, nil
	}
	if p.nesting == nil {
		return nil, at.Errorf("", "a manifest cannot be applied here")
	}
	p.nesting.mu.Lock()
	defer p.nesting.mu.Unlock()
	l := newLoader(p.File, p.registry)
	l.file, l.folder, l.confined, l.applied = p.File, p.Folder, p.confined, p.chain()
	l.nesting, l.runs, l.compiling = p.nesting, ctx, true
	n := l.nested(ctx, at, nest)
	if n.err != nil {
		return nil, n.err
	}
	if err := Distinct(l.errs); err != nil {
		return nil, err
	}
	key := instanceKey{p, n, r.Unconditional(), nest.Deny, strings.Join(r.Tags, "\x00")}
	if known := p.nesting.instances[key]; known != nil {
		return known, nil
	}
	by := *r
	by.Child, by.known = n.Play, n
	l.expand([]*Resource{&by})
	if err := Distinct(l.errs); err != nil {
		return nil, err
	}
	if nest.Deny {
		for _, one := range by.Child.Resources {
			if one.Applies() {
				return nil, Denied(one, r)
			}
		}
	}
	by.Child.tag(p, &by)
	if len(p.nesting.instances) < maxManifests {
		p.nesting.instances[key] = by.Child
	}
	return by.Child, nil
}

// chain is the manifests that lead to a play, itself the last.
func (p *Play) chain() []string {
	if len(p.applied) > 0 {
		return p.applied
	}
	return []string{p.File}
}

// tag gives a nested manifest what its parent says of the selection.
func (p *Play) tag(parent *Play, by *Resource) {
	p.Tags = append(slices.Clone(parent.Tags), by.Tags...)
	p.selection = parent.selection
	p.selection.mark(p, p.Resources)
}

// CheckNested reports what is wrong with how the resource applies a manifest: what
// a host sent may not choose that, nor all of its data at once.
func (r *Resource) CheckNested(data map[string]bool) error {
	if !r.Applies() {
		return nil
	}
	taint := templates.Taint{Data: data}
	taint.Item = r.Each.FromHost(taint)
	var errs yamlpos.Errors
	checksum := r.properties().Get("checksum")
	if r.Name.FromHost(taint) {
		errs.Add(r.Name.Node.Errorf("choose with control, or use data of the inventory", "what a host sent may not name a manifest"))
	}
	if checksum != nil && r.Properties.fromHost(checksum, taint) {
		errs.Add(checksum.Errorf("", "what a host sent may not be the checksum of a manifest"))
	}
	if given := r.DataGiven(); given != nil && given.Kind != yamlpos.Map && r.Properties.fromHost(given, taint) {
		errs.Add(given.Errorf("write a map: data: {key: \"{{ ... }}\"}", "what a host sent may not be the whole data of a manifest"))
	} else if given != nil {
		errs.Add(r.checkDataKeys(given, taint))
	}
	return errs.Err()
}

// checkDataKeys reports keys of the data of a nested manifest that keep it from
// being known which of them are made of facts.
func (r *Resource) checkDataKeys(data *yamlpos.Node, taint templates.Taint) error {
	var errs yamlpos.Errors
	for _, pair := range data.Pairs {
		if r.Properties.texts[pair.Key] != nil && (r.Properties.fromHost(pair.Key, taint) || r.Properties.fromHost(pair.Value, taint)) {
			errs.Add(pair.Key.Errorf("write the key as it is: data: {key: \"{{ ... }}\"}",
				"what a host sent may neither be a key of the data of a manifest, nor stand below one that is computed"))
		}
	}
	return errs.Err()
}

// DataGiven is the data that the resource gives to its nested manifest; nil if it
// gives none of its own.
func (r *Resource) DataGiven() *yamlpos.Node {
	return given(r.properties().Get("data"))
}

// NestedFromHost gives the keys of the data of the nested manifest that are made of
// facts, as far as that is not its own: data are those of the manifest that
// applies it.
func (r *Resource) NestedFromHost(data map[string]bool) map[string]bool {
	given := r.DataGiven()
	if given == nil {
		return data
	}
	taint := templates.Taint{Data: data}
	taint.Item = r.Each.FromHost(taint)
	keys := map[string]bool{}
	for _, pair := range given.Pairs {
		if r.Properties.fromHost(pair.Value, taint) {
			keys[pair.Key.Text] = true
		}
	}
	return keys
}

// fromHost is FromHost for a part of the value, keys of maps included.
func (v Value) fromHost(n *yamlpos.Node, taint templates.Taint) bool {
	if text := v.texts[n]; text != nil && text.FromHost(taint) {
		return true
	}
	return slices.ContainsFunc(n.Items, func(item *yamlpos.Node) bool { return v.fromHost(item, taint) }) ||
		slices.ContainsFunc(n.Pairs, func(p yamlpos.Pair) bool { return v.fromHost(p.Key, taint) || v.fromHost(p.Value, taint) })
}
