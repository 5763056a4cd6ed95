package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/explain"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// A RenderedPlay is a play made ready for one host.
type RenderedPlay struct {
	Play     string // its name
	Rendered *catalog.Rendered
}

// A HostError is the reason why a host could not be processed, as the event that reports it: Unreachable or HostFailed.
type HostError struct{ Event events.Event }

func (e *HostError) Error() string { return fmt.Sprintf("%+v", e.Event) }

// Render prepares the plays of a host, and applies nothing. If contact is set, the host reports the facts that they
// mention; otherwise they have only the facts of Options.Catalog. The error is a [HostError] if the host is the cause.
func (r *Runner) Render(ctx context.Context, h *inventory.Host, contact bool) ([]RenderedPlay, error) {
	plays, err := r.playsOf(ctx, h)
	defer closeAll(plays)
	if err != nil {
		return nil, err
	}
	return r.render(ctx, plays, h, contact)
}

// Explain is Render for the explanations of the resources that are called ref, as type#name or type#alias.
func (r *Runner) Explain(ctx context.Context, h *inventory.Host, ref string, contact bool) ([]*explain.Explanation, error) {
	plays, err := r.playsOf(ctx, h)
	defer closeAll(plays)
	if err != nil && !errors.Is(err, errNotSelected) {
		return nil, err
	}
	rendered, err := r.render(ctx, plays, h, contact)
	if err != nil {
		return nil, err
	}
	var all []*explain.Explanation
	var known []string
	of := map[*manifest.Play]*catalog.Rendered{}
	for i, one := range rendered {
		for _, k := range explain.Find(one.Rendered, ref) {
			e, err := explain.Of(ctx, plays[i].play, h.Name, one.Rendered, k)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
		of[plays[i].play] = one.Rendered
		known = append(known, explain.Refs(one.Rendered)...)
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, p := range r.Plays { // why it is not in the run
		if e := explain.Missing(ctx, p, h.Name, ref, of[p]); e != nil {
			all = append(all, e)
		}
		known = append(known, p.LiteralRefs()...)
	}
	if len(all) > 0 {
		return all, nil
	}
	hint := "ccm-push graph MANIFEST... " + h.Name + " shows all"
	if meant := yamlpos.Suggest(ref, known); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return nil, fmt.Errorf("no resource of %s is called %q; %s", h.Name, ref, printable.Line(hint))
}

// render makes opened plays ready for a host.
func (r *Runner) render(ctx context.Context, plays []*selection, h *inventory.Host, contact bool) ([]RenderedPlay, error) {
	host := catalog.Host{Name: h.Name, Layers: layersOf(h), Secrets: h.Secrets()}
	if wanted := collectors(plays); contact && len(wanted) > 0 {
		found, err := r.hostFacts(ctx, h, wanted)
		if err != nil {
			return nil, &HostError{failure("", h.Name, err)}
		}
		host.Facts = found
	}
	ask := r.factsFor(ctx, nil, 0)
	if !contact {
		ask = nil
	}
	var all []RenderedPlay
	for _, p := range plays {
		r.askOthers(ctx, p, ask)
		rendered, err := p.compiler.Render(ctx, host)
		if err != nil {
			return nil, err
		}
		all = append(all, RenderedPlay{p.play.Name, rendered})
	}
	return all, nil
}

var errNotSelected = errors.New("no play selects host")

// playsOf opens the plays that select a host. The error wraps errNotSelected if there are none.
func (r *Runner) playsOf(ctx context.Context, h *inventory.Host) ([]*selection, error) {
	hosts, err := r.Select()
	if err != nil {
		return nil, err
	}
	values, err := r.inventoryValues(hosts)
	if err != nil {
		return nil, err
	}
	all, err := r.compilers(ctx, r.compiling(nil), values)
	var plays []*selection
	for i, c := range all {
		s := &selection{play: r.Plays[i], compiler: c, values: values[i]}
		if err == nil && slices.Contains(hosts[i], h) {
			plays = append(plays, s)
		} else {
			c.Close()
		}
	}
	for _, p := range plays {
		if err == nil {
			err = r.checkVariables([]*catalog.Compiler{p.compiler}, [][]*inventory.Host{{h}})
		}
	}
	if err == nil && len(plays) == 0 {
		err = fmt.Errorf("%w %s", errNotSelected, h.Name)
	}
	return plays, err
}

func closeAll(plays []*selection) {
	for _, p := range plays {
		p.compiler.Close()
	}
}

// layersOf are the variables of a host, as layers of data.
func layersOf(h *inventory.Host) []templates.Layer {
	layers := []templates.Layer{} // nil would mean that they are not known
	for _, l := range h.WholeLayers() {
		values, _ := l.Node.Any().(map[string]any)
		layers = append(layers, templates.Layer{Name: l.Name, Values: values, Node: l.Node})
	}
	return layers
}
