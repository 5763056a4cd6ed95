package catalog

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// resource compiles one resource of the play into its entries: one, or with
// each one per element.
func (p *compilation) resource(ctx context.Context, r *manifest.Resource) {
	if r.Unselected {
		p.leaveOut(r)
		return
	}
	if r.Each == nil {
		p.entry(ctx, r, p.at.env)
		return
	}
	excluded := p.excludedWithoutItem(ctx, r)
	items, err := p.items(ctx, r)
	switch {
	case err == nil:
		p.elements(ctx, r, items)
	case excluded: // the list may need data that is not there, and it is not needed
		p.exclude(ctx, r, p.at.env)
	default:
		p.errs.Add(err)
	}
}

// items resolves the list of an each. One that the catalog has no room for is refused
// before anything is made of it.
func (p *compilation) items(ctx context.Context, r *manifest.Resource) ([]any, error) {
	list, err := r.Each.List(ctx, p.at.env)
	if room := maxEntries - len(p.out.Catalog.Entries); err == nil && len(list) > room {
		hint := ""
		if room < maxEntries {
			hint = fmt.Sprintf("%d stand before it", maxEntries-room)
		}
		err = r.Each.Node.Errorf(hint, "each has %d elements, and a host may have %d resources", len(list), maxEntries)
	}
	return list, err
}

// elements compiles one entry per element. Their literal alias means them all.
func (p *compilation) elements(ctx context.Context, r *manifest.Resource, items []any) {
	var own []int
	for _, item := range items {
		if p.full() {
			return
		}
		if i := p.entry(ctx, r, p.withItem(item)); i >= 0 {
			own = append(own, i)
		}
	}
	names, aliases := map[string]bool{}, map[string][]int{}
	if r.Alias != nil && !r.Alias.HasExpressions() {
		aliases[r.Alias.Node.Text] = nil // also if there are no elements
	}
	for _, i := range own {
		e := &p.out.Catalog.Entries[i]
		if e.Alias != "" {
			aliases[e.Alias] = append(aliases[e.Alias], i)
		}
		if names[e.Name] && !e.Excluded && e.Scope == nil { // a manifest may be applied with the data of each element
			p.errs.Add(r.Name.Node.Errorf("use Item in the name so that every element gets its own", "two elements of each are called %q", e.Name))
		}
		names[e.Name] = names[e.Name] || !e.Excluded
	}
	for alias, entries := range aliases {
		p.byName[r.Type.Name+"#"+alias] = entries
	}
}

// withItem is the environment of one element of an each.
func (p *compilation) withItem(item any) *templates.Env {
	return &templates.Env{
		Facts: p.at.env.Facts, Data: p.at.env.Data, Environ: p.at.env.Environ, Files: p.at.files,
		Item: item, HasItem: true,
	}
}

// excludedWithoutItem decides control before the list of an each is looked at,
// as far as control does not look at Item.
func (p *compilation) excludedWithoutItem(ctx context.Context, r *manifest.Resource) bool {
	for _, e := range []*templates.Expr{r.If, r.Unless} {
		if e != nil && e.Mentions("Item") {
			return false
		}
	}
	ok, err := managed(ctx, r, p.at.env)
	return !ok && err == nil
}
