package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// graphFormats are what `ccm-push graph` prints.
var graphFormats = []string{"text", "dot", "svg"}

func (a *app) graphCommand() *cobra.Command {
	var format, why string
	c := &cobra.Command{
		Use:   "graph MANIFEST... HOST",
		Short: "print what the resources of manifests wait for on a host, and change nothing",
		Long: `graph asks the host for the facts that the manifests mention, and prints for each
play that runs on it which resources wait for which, and why. With --facts FILE
those stand for the facts of the host, and it is not contacted.

--why type#name tells of one resource, and where its edges are written. dot is for
Graphviz; svg is a picture, of one play: choose it with --tags if there are several.`,
		Args:              atLeast(2),
		ValidArgsFunction: a.completeRender,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.graph(cmd.Context(), args[:len(args)-1], args[len(args)-1], format, why)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, dot or svg")
	c.Flags().StringVar(&why, "why", "", "tell of one resource only: `type#name`")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) graph(ctx context.Context, paths []string, name, format, why string) error {
	switch {
	case !slices.Contains(graphFormats, format):
		return fmt.Errorf("--format %q: there are %s", format, strings.Join(graphFormats, ", "))
	case why != "" && format != "text":
		return fmt.Errorf("--why is told as text, not as %s", format)
	}
	plays, err := a.renderPlays(ctx, "graph", paths, name)
	if err != nil {
		return err
	}
	drawings := make([]*graph.Drawing, len(plays))
	for i, p := range plays {
		drawings[i] = &graph.Drawing{
			Graph:    p.Graph,
			Title:    fmt.Sprintf("play %s on %s", p.Play, name),
			InOrder:  p.Parallel == 0,
			Parallel: p.Parallel,
		}
	}
	switch {
	case why != "":
		return a.graphWhy(drawings, why)
	case format == "svg" && len(drawings) > 1:
		return fmt.Errorf("%d plays run on %s, and a picture is of one: give one manifest, or choose by --tags", len(drawings), name)
	}
	for i, d := range drawings {
		text := ""
		switch format {
		case "dot":
			text = d.DOT()
		case "svg":
			text = d.SVG()
		default:
			text = d.Text()
			if i > 0 {
				text = "\n" + text
			}
		}
		if err := a.print(text); err != nil {
			return err
		}
	}
	return nil
}

// graphWhy tells of one resource in each of the plays that have it.
func (a *app) graphWhy(drawings []*graph.Drawing, ref string) error {
	var known []string
	found := false
	for _, d := range drawings {
		for _, i := range d.Find(ref) {
			found = true
			if err := a.print(d.Why(i)); err != nil {
				return err
			}
		}
		for i := range d.Vertices {
			known = append(known, d.Vertices[i].Ref)
		}
	}
	if found {
		return nil
	}
	hint := "ccm-push graph without --why shows all"
	if meant := yamlpos.Suggest(ref, known); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return fmt.Errorf("--why %q: no resource is called that; %s", ref, events.Line(hint))
}

// renderPlays makes the plays of manifests ready for a host; command is the one
// that wants them. The host is contacted unless --facts is given.
func (a *app) renderPlays(ctx context.Context, command string, paths []string, name string) ([]playbooks.RenderedPlay, error) {
	if err := a.flags.textOnly(command); err != nil {
		return nil, err
	}
	r, err := a.manifestRunner(ctx, paths)
	if err != nil {
		return nil, err
	}
	defer r.Dialer.Close()
	host := r.Inventory.Host(name)
	if host == nil {
		return nil, fmt.Errorf("there is no host %q in the inventory; the last argument is the host to %s for", name, command)
	}
	contact := a.flags.facts == ""
	if contact {
		if err := a.addBuilds(r); err != nil {
			return nil, err
		}
		if err := a.credentials(ctx, r, []*inventory.Host{host}); err != nil {
			return nil, err
		}
	}
	ctx, end := a.untilStop(ctx)
	defer end()
	plays, err := r.Render(ctx, host, contact)
	if failed, ok := errors.AsType[*playbooks.HostError](err); ok {
		return nil, a.hostFailed(r, failed.Event)
	}
	return plays, err
}
