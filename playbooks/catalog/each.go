package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// each makes one entry per element of a list.
func (x *expansion) each(ctx context.Context, r *manifest.Resource, in *scope) {
	if r.Register != nil && !r.Unselected {
		x.results.begin(r.Register.Text, true)
	}
	around := in
	in, _, ok := within(ctx, x, r, in, in.env)
	if !ok {
		return
	}
	if x.listAwaits(r, in) {
		x.results.list = r
		x.await(ctx, r, in, in.env)
		x.results.list = nil
		return
	}
	excluded := !x.controlAwaits(r, in) && excludedWithoutItem(ctx, r, in.env)
	items, order, err := elements(ctx, r, in.env, maxEntries-len(x.draft.entries))
	if err != nil && (in.reads(r.Each.Inputs(in.env.Files), in.itemSecrets(r.In, in.env)) || in.readsOuter(r.Each.Inputs(in.env.Files), r.In, in.env)) {
		err = withheld(err)
	}
	switch {
	case err == nil:
	case excluded: // the list may need data that is not there, and it is not needed
		x.results.list = r
		x.exclude(ctx, r, in, in.env)
		x.results.list = nil
		return
	default:
		x.errs.Add(err)
		return
	}
	var own []int // its entries
	for i, item := range items {
		if x.full() {
			return
		}
		x.errs.Add(around.refresh(ctx, x.results.sets))
		if entry := scopedEntry(ctx, x, r, around, templates.WithItem(around.env, item, order(i))); entry >= 0 {
			own = append(own, entry)
		}
	}
	x.nameElements(r, own)
}

// nameElements checks the names of the entries of an each. An alias that several of them
// have means them all.
func (x *expansion) nameElements(r *manifest.Resource, own []int) {
	names, aliases := map[string]bool{}, map[string][]int{}
	if r.Alias != nil && !r.Alias.HasExpressions() {
		aliases[r.Alias.Node.Text] = nil // also if there are no elements
	}
	for _, i := range own {
		e := &x.draft.entries[i]
		if r.Block != nil { // an author calls all of them so
			aliases[e.Name] = append(aliases[e.Name], i)
		}
		if e.Alias != "" {
			aliases[e.Alias] = append(aliases[e.Alias], i)
		}
		if names[e.Name] && !e.Excluded && e.Scope == nil { // a manifest may be applied with the data of each element
			x.errs.Add(r.Name.Node.Errorf("use Item in the name so that every element gets its own", `two elements of "each" are called %q`, e.Name))
		}
		names[e.Name] = names[e.Name] || !e.Excluded
	}
	for alias, entries := range aliases {
		x.draft.names.last[r.Type.Name+"#"+alias] = entries
	}
}

// elements resolves the list of an each. One that the catalog has no room for is refused
// before anything is made of it.
func elements(ctx context.Context, r *manifest.Resource, env *templates.Env, room int) ([]any, func(i int) templates.KeyOrder, error) {
	list, order, err := r.Each.List(ctx, env)
	if err == nil && len(list) > room {
		hint := ""
		if room < maxEntries {
			hint = fmt.Sprintf("%d entries come before it", maxEntries-room)
		}
		err = r.Each.Node.Errorf(hint, `"each" has %d elements, and a host may have %d resources`, len(list), maxEntries)
	}
	return list, order, err
}

// excludedWithoutItem decides control before the list of an each is looked at,
// as far as control does not look at Item.
func excludedWithoutItem(ctx context.Context, r *manifest.Resource, env *templates.Env) bool {
	if slices.ContainsFunc(slices.Concat(r.If, r.Unless), func(e *templates.Expr) bool { return e.Mentions("Item") }) {
		return false
	}
	ok, err := managed(ctx, r, env)
	return !ok && err == nil
}
