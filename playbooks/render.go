package playbooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
)

// A RenderedPlay is a play made ready for one host.
type RenderedPlay struct {
	Play     string // its name
	Rendered *catalog.Rendered
}

// A HostError is why a host could not be worked on, as the event that tells of
// it: Unreachable or HostFailed.
type HostError struct{ Event events.Event }

func (e *HostError) Error() string { return fmt.Sprintf("%+v", e.Event) }

// Render makes the plays of a host ready, and applies nothing. If contact is
// set the host is asked for the facts that they mention; otherwise those of
// Options.Catalog are all. The error is a [HostError] if the host is to blame.
func (r *Runner) Render(ctx context.Context, h *inventory.Host, contact bool) ([]RenderedPlay, error) {
	plays, err := r.playsOf(ctx, h)
	defer closeAll(plays)
	if err != nil {
		return nil, err
	}
	host := catalog.Host{Name: h.Name, Layers: layersOf(h)}
	if wanted := collectors(plays); contact && len(wanted) > 0 {
		answer := r.hostFacts(ctx, h, wanted)
		if answer.Err != nil {
			return nil, &HostError{answer.Err}
		}
		host.Facts = answer.Facts
	}
	var all []RenderedPlay
	for _, p := range plays {
		rendered, err := p.compiler.Render(ctx, host)
		if err != nil {
			return nil, err
		}
		all = append(all, RenderedPlay{p.play.Name, rendered})
	}
	return all, nil
}

// playsOf opens the plays that select a host.
func (r *Runner) playsOf(ctx context.Context, h *inventory.Host) ([]*selection, error) {
	hosts, err := r.Select()
	if err != nil {
		return nil, err
	}
	all, err := r.compilers(ctx, nil)
	var plays []*selection
	for i, c := range all {
		s := &selection{play: r.Plays[i], compiler: c}
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
		err = fmt.Errorf("no play selects host %s", h.Name)
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
