package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// because returns the reasons why resource i is in the run, or is not.
func (x *explainer) because(ctx context.Context, i int) []Reason {
	one := &x.rendered.Resources[i]
	reasons := append(x.ofResource(ctx, one, ""), ofPlay(x.play)...)
	if len(one.Awaits) > 0 {
		reasons = append(reasons, Reason{Key: "results", Text: "its properties, and whether it runs, are known after " + strings.Join(one.Awaits, ", ") + " has run"})
	}
	if one.Entry.Check {
		reasons = append(reasons, Reason{Key: "noop", Text: "it is checked and not applied"})
	}
	inner := one.Resource
	for w := x.within(i); w >= 0; w = x.within(w) {
		around := &x.rendered.Resources[w]
		said := x.ofResource(ctx, around, "within")
		if part := inner.Part(); part != "" {
			said[0].Text = part + " of " + said[0].Text
		}
		reasons, inner = append(reasons, said...), around.Resource
	}
	return reasons
}

// ofPlay returns the origin of the play, and the hosts that it selects.
func ofPlay(p *manifest.Play) []Reason {
	var reasons []Reason
	for _, n := range p.Included {
		reasons = append(reasons, Reason{"include", n.Text, n.Pos()})
	}
	hosts := Reason{Key: "hosts", Text: p.HostPattern()}
	if p.Hosts != nil {
		hosts.At = p.Hosts.Pos()
	} else {
		hosts.Text += ", as the play names none"
	}
	reasons = append(reasons, hosts)
	if len(p.Tags) > 0 {
		reasons = append(reasons, Reason{Key: "play tags", Text: strings.Join(p.Tags, ", ")})
	}
	return reasons
}

// ofResource returns the place of a resource, and the conditions for it. before precedes each key: the relation of the
// resource to the explained one.
func (x *explainer) ofResource(ctx context.Context, one *catalog.RenderedResource, before string) []Reason {
	r := one.Resource
	key := func(word string) string { return strings.TrimSpace(before + " " + word) }
	reasons := []Reason{{"written", r.Ref(), r.Name.Node.Pos()}}
	switch {
	case before != "":
		reasons[0].Key, reasons[0].Text = before, one.Entry.Ref()
	case r.Name.Node.Text == one.Entry.Name:
		reasons[0].Text = ""
	}
	if r.Each != nil && one.Env.HasItem {
		reasons = append(reasons, Reason{key("each"), "element " + shown(one.Env.Item, withheldItem(one)), r.Each.Node.Pos()})
	}
	reasons = append(reasons, conditions(ctx, r, one.Env, key)...)
	if len(r.Tags) > 0 {
		reasons = append(reasons, Reason{Key: key("tags"), Text: strings.Join(r.Tags, ", ")})
	}
	return reasons
}

// conditions returns the results of a resource's control.
func conditions(ctx context.Context, r *manifest.Resource, env *templates.Env, key func(string) string) []Reason {
	var reasons []Reason
	add := func(word string, all []*templates.Expr) {
		for _, e := range all {
			ok, err := e.Bool(ctx, env)
			is := fmt.Sprintf("%s is %t", e, ok)
			if err != nil { // it was not looked at when it decided nothing
				is = e.String() + " cannot be evaluated"
			}
			reasons = append(reasons, Reason{key(word), is, e.At().String()})
		}
	}
	add("if", r.If)
	add("unless", r.Unless)
	return reasons
}

// Missing explains a resource that a play has, and that it does not have for a host, as far
// as manifests say it before any host is known. rendered is nil if the play does not select
// the host. It is nil if the play has no resource that is called so.
func Missing(ctx context.Context, play *manifest.Play, host, ref string, rendered *catalog.Rendered) *Explanation {
	path := find(play.Resources, ref)
	if len(path) == 0 {
		return nil
	}
	r := path[len(path)-1]
	e := &Explanation{Host: host, Play: play.Name, Resource: ref, Because: []Reason{{"written", "", r.Name.Node.Pos()}},
		Properties: []Property{}, WaitsFor: []Relation{}, Triggers: []Relation{},
	}
	for _, by := range slices.Backward(path) {
		switch {
		case by.Unselected:
			text := "it is not selected by --tags, --skip-tags or --start-at"
			if by != r {
				text = by.Ref() + ", which applies its manifest, is not selected"
			}
			e.Because = append(e.Because, Reason{"not run", text, by.Name.Node.Pos()})
			if len(by.Tags) > 0 {
				e.Because = append(e.Because, Reason{Key: "tags", Text: strings.Join(by.Tags, ", ")})
			}
		case by != r && rendered != nil:
			e.Because = append(e.Because, excluded(ctx, rendered, by)...)
		}
	}
	if rendered == nil {
		e.Because = append(e.Because, Reason{Key: "not run", Text: "the play does not select " + host})
	}
	e.Because = append(e.Because, ofPlay(play)...)
	return e
}

// excluded returns why a manifest that a resource applies is not applied.
func excluded(ctx context.Context, rendered *catalog.Rendered, by *manifest.Resource) []Reason {
	i := slices.IndexFunc(rendered.Resources, func(r catalog.RenderedResource) bool { return r.Resource == by && r.Entry.Excluded })
	if i < 0 {
		return nil
	}
	x := &explainer{rendered: rendered}
	return append([]Reason{{"not run", by.Ref() + " is excluded by its control", by.Name.Node.Pos()}},
		x.ofResource(ctx, &rendered.Resources[i], "within")...)
}

// find returns the resource with a reference, last, after the resources that apply the manifests around it, outermost
// first.
func find(resources []*manifest.Resource, ref string) []*manifest.Resource {
	for _, r := range resources {
		if r.Ref() == ref || r.Alias != nil && r.Type.Name+"#"+r.Alias.Node.Text == ref {
			return []*manifest.Resource{r}
		}
		if r.Child != nil {
			if path := find(r.Child.Resources, ref); path != nil {
				return append([]*manifest.Resource{r}, path...)
			}
		}
	}
	return nil
}
