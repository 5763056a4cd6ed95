package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/templates"
)

// managed decides control.
func managed(ctx context.Context, r *manifest.Resource, env *templates.Env) (bool, error) {
	if r.If != nil {
		if ok, err := r.If.Bool(ctx, env); err != nil || !ok {
			return false, err
		}
	}
	if r.Unless != nil {
		if not, err := r.Unless.Bool(ctx, env); err != nil || not {
			return false, err
		}
	}
	return true, nil
}

// entry compiles one resource and returns the number of its entry; -1 if there is
// none. What control excludes is not looked at further.
func (p *compilation) entry(ctx context.Context, r *manifest.Resource, env *templates.Env) int {
	switch ok, err := managed(ctx, r, env); {
	case err != nil:
		p.errs.Add(err)
		return -1
	case !ok:
		return p.exclude(ctx, r, env)
	}
	before := len(p.errs)
	e := modules.Entry{
		Type:      r.Type.Name,
		Name:      p.text(ctx, &r.Name, env),
		Alias:     p.text(ctx, r.Alias, env),
		Query:     r.Query,
		Check:     p.boolean(ctx, r.Noop, env),
		Sensitive: p.boolean(ctx, r.Sensitive, env),
	}
	l := p.link(ctx, r, &e, env)
	p.meta(ctx, r, &e, env)
	p.inherit(&e)
	i := p.finished(ctx, r, e, env, before)
	if i >= 0 {
		p.linked(i, l)
	}
	return i
}

// finished compiles the rest of an entry and returns its number; -1 if there is
// none. before is how many errors there were when it was begun.
func (p *compilation) finished(ctx context.Context, r *manifest.Resource, e modules.Entry, env *templates.Env, before int) int {
	e.Health = p.health(ctx, r, e.Sensitive, env)
	if len(p.errs) > before && e.Name == "" { // its properties would only repeat that
		p.unknownNest(r, e)
		return -1
	}
	if r.Applies() {
		return p.nested(ctx, r, e, env)
	}
	node, properties, err := p.properties(ctx, r, e, env)
	p.errs.Add(err)
	if e.Properties = properties; len(p.errs) > before {
		p.unknown(e)
		return -1
	}
	return p.add(r, e, node)
}

// unknown notes the names of an entry that is not in the catalog: to refer to it
// is no mistake, and leads nowhere. Without a name it can be any of its type.
func (p *compilation) unknown(e modules.Entry) {
	if e.Name == "" {
		p.unseen[e.Type] = true
	}
	for _, name := range []string{e.Name, e.Alias} {
		if ref := e.Type + "#" + name; name != "" && p.byName[ref] == nil {
			p.byName[ref] = []int{}
		}
	}
}

// exclude adds the entry of a resource that control excludes, under its name and
// alias if they can be told: they may need data that is not there.
func (p *compilation) exclude(ctx context.Context, r *manifest.Resource, env *templates.Env) int {
	name, err := r.Name.Text(ctx, env)
	if err != nil {
		name = r.Name.Node.Text
		p.notWhole()
	}
	if r.Applies() {
		name = source.ShownName(name)
	}
	p.leaveOutNest(r)
	e := modules.Entry{Type: r.Type.Name, Name: name, Excluded: true}
	if r.Alias != nil {
		e.Alias, _ = r.Alias.Text(ctx, env)
	}
	return p.add(r, e, nil)
}

// add adds an entry and returns its number.
func (p *compilation) add(r *manifest.Resource, e modules.Entry, properties *yamlpos.Node) int {
	i := []int{len(p.out.Catalog.Entries)}
	p.out.Catalog.Entries = append(p.out.Catalog.Entries, e)
	p.out.common = append(p.out.common, p.recalled)
	p.recalled = false
	const indexSize = 8 // bytes, of each reference
	p.size += int64(len(e.Name) + len(e.Alias) + len(e.Properties) + indexSize*(len(e.Require)+len(e.Subscribe)))
	p.byName[e.Type+"#"+e.Name] = i
	if e.Alias != "" {
		p.byName[e.Type+"#"+e.Alias] = i
	}
	if p.ordering.graph {
		p.vertex(r, &e)
	}
	if p.shown != nil {
		p.shown.Resources = append(p.shown.Resources, RenderedResource{Resource: r, Entry: e, Properties: properties})
	}
	return i[0]
}

// leaveOut notes the names of a resource that is not selected.
func (p *compilation) leaveOut(r *manifest.Resource) {
	if r.DependsOnHost() {
		p.unknown(modules.Entry{Type: r.Type.Name})
		p.notWhole()
	}
	for _, name := range r.LiteralNames() {
		p.unknown(modules.Entry{Type: r.Type.Name, Name: name})
		p.stays(r.Type.Name, name)
	}
	p.leaveOutNest(r)
}

// refTexts resolves references to what they are written as. An expression that
// gives "" or nil refers to nothing.
func (p *compilation) refTexts(ctx context.Context, v *manifest.Value, env *templates.Env) []*yamlpos.Node {
	list, err := v.Resolve(ctx, env)
	var texts []string
	if err == nil {
		err = yamlpos.Decode(list, &texts)
	}
	if err != nil {
		p.errs.Add(err)
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list.Items), func(item *yamlpos.Node) bool { return item.Text == "" })
}

// reference finds what was last called so.
func (p *compilation) reference(ref *yamlpos.Node) ([]int, error) {
	entries, ok := p.byName[ref.Text]
	if ok {
		return entries, nil
	}
	typeName, _, err := reference.Parse(ref)
	if err != nil || p.unseen[typeName] || p.unseenAll {
		return nil, err
	}
	return nil, ref.Errorf(p.suggest(ref.Text), "no earlier resource is called %s on this host", ref.Text)
}

func (p *compilation) suggest(ref string) string {
	const most = 20 // each looks at all names
	if p.hints++; p.hints > most {
		return ""
	}
	var known []string
	for name := range p.byName {
		known = append(known, name)
	}
	slices.Sort(known) // of several that are as near, always the same
	if s := yamlpos.Suggest(ref, known); s != "" {
		return "did you mean " + s + "?"
	}
	return ""
}

// properties resolves, prepares and validates the properties of a resource, and
// gives them resolved and as JSON. The errors of expressions hold no values; those
// about what they gave are withheld if the resource is sensitive.
func (p *compilation) properties(ctx context.Context, r *manifest.Resource, e modules.Entry, env *templates.Env) (node *yamlpos.Node, b json.RawMessage, err error) {
	// Resources that a template has written are new for every host.
	key, repeats := memoKey{}, p.shown == nil && p.at.play.JetFile == nil
	if repeats {
		key, repeats = p.memo.key(r, e.Name, env)
	}
	if repeats {
		if known := p.memo.recall(key); known != nil {
			p.recalled = true
			p.take(known)
			return nil, known.properties, nil
		}
	}
	node, err = r.Properties.Resolve(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	what, err := p.encode(ctx, r, e.Name, node, env, false) // its error would be withheld
	switch {
	case err != nil && e.Sensitive:
		return nil, nil, withheld(err)
	case err != nil:
		return nil, nil, err
	case repeats:
		p.memo.remember(key, what)
	}
	p.take(what)
	return node, what.properties, nil
}

// encode prepares and validates resolved properties and gives them as JSON; discreet
// also tells the resource that it is sensitive.
func (p *compilation) encode(ctx context.Context, r *manifest.Resource, name string, node *yamlpos.Node, env *templates.Env, discreet bool) (*made, error) {
	m := &made{}
	res := r.Type.New()
	if err := yamlpos.Decode(node, res); err != nil {
		return nil, err
	}
	modules.SetName(res, name)
	modules.SetDefaults(res)
	if from, ok := res.(modules.Downloader); ok { // now that all properties are known
		if err := r.CheckDownload(from.Downloads(), p.at.tainted); err != nil {
			return nil, err
		}
	}
	tags := modules.CheckTags(res)
	if d, ok := res.(modules.Discreet); ok && discreet {
		d.Discreet()
	}
	var unprepared error
	if preparer, ok := res.(modules.Preparer); ok {
		unprepared = preparer.Prepare(ctx, p.source(m, r, env))
	}
	if m.bundle != nil && m.bundle.err != nil {
		return nil, r.Name.Node.Errorf("", "%v", m.bundle.err)
	}
	if placed, ok := errors.AsType[*templates.Error](unprepared); ok { // stands in a template
		return nil, placed
	}
	wrong := errors.Join(tags, unprepared, res.Validate())
	if len(r.Received()) > 0 {
		if err := r.CheckReceiving(node, name); err != nil {
			return nil, err
		}
		wrong = unprepared
	}
	if wrong != nil {
		return nil, manifest.Positioned(r, node, wrong)
	}
	if related, ok := res.(modules.Related); ok && p.ordering.graph {
		m.related = related.Related()
	}
	full, ok := res.(modules.FullBuilder)
	m.needsFull = ok && full.NeedsFull() || m.bundle != nil // which the lean one does not keep
	b, err := json.Marshal(res)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name.Node.Pos(), err)
	}
	m.properties = b
	return m, nil
}

// withheld takes the texts out of the errors of a sensitive resource: they may
// quote what its expressions gave.
func withheld(err error) error {
	var errs, safe yamlpos.Errors
	errs.Add(err)
	for _, e := range errs {
		at := yamlpos.Node{File: e.File, Line: e.Line, Column: e.Column}
		safe.Add(at.Errorf("", "the value is not valid; the details are withheld because the resource is sensitive"))
	}
	return safe.Err()
}
