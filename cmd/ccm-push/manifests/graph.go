package manifests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// graphFormats are the formats of `ccm-push graph`.
var graphFormats = []string{"text", "dot"}

func graphCommand(p *fleet.Plays, out *output.Printer) *cobra.Command {
	var format, why string
	c := &cobra.Command{
		Use:   "graph MANIFEST... HOST",
		Short: "print the order and dependencies of resources on a host; change nothing",
		Long: `ccm-push graph prints the resources of a host, and for each resource its dependencies and their
reasons. The command queries the host for the facts (data about the host) that the manifests use.
With --facts FILE, it reads the facts from the file and contacts no host.

--why type#name prints one resource, with the lines of the manifest that define its dependencies.
--format dot prints a graph for Graphviz.`,
		Example: `  ccm-push graph site.yaml web1
  ccm-push graph site.yaml web1 --why service#nginx
  ccm-push graph site.yaml web1 --format dot | dot -Tsvg > site.svg`,
		Args:              arguments.AtLeast(2),
		ValidArgsFunction: p.Fleet.Inventory.CompleteLastHost,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printGraph(cmd.Context(), p, out, args[:len(args)-1], args[len(args)-1], format, why)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "format: text or dot")
	c.Flags().StringVar(&why, "why", "", "print only this resource: `type#name`")
	_ = c.RegisterFlagCompletionFunc("why", arguments.CompleteResource(p.Fleet.App.Registry))
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func printGraph(ctx context.Context, p *fleet.Plays, out *output.Printer, paths []string, name, format, why string) error {
	switch {
	case format == "svg": // drawn until this version
		return fmt.Errorf("--format svg: ccm-push no longer draws pictures; draw the graph with Graphviz\n  hint: ccm-push graph %s %s --format dot | dot -Tsvg > site.svg", strings.Join(paths, " "), name)
	case !slices.Contains(graphFormats, format):
		return fmt.Errorf("--format %q: use one of %s", format, strings.Join(graphFormats, ", "))
	case why != "" && format != "text":
		return fmt.Errorf("--why prints text only, not %s", format)
	}
	rendered, err := p.Render(ctx, out, "graph", paths, name)
	if err != nil {
		return err
	}
	drawings := make([]*graph.Drawing, len(rendered))
	for i, play := range rendered {
		drawings[i] = &graph.Drawing{
			Graph:    play.Rendered.Graph,
			Title:    fmt.Sprintf("play %s on %s", play.Play, name),
			InOrder:  play.Rendered.Parallel == 0,
			Parallel: play.Rendered.Parallel,
		}
	}
	if why != "" {
		return printWhy(out, drawings, why)
	}
	for i, d := range drawings {
		text := d.Text()
		if format == "dot" {
			text = d.DOT()
		} else if i > 0 {
			text = "\n" + text
		}
		if err := out.Print(text); err != nil {
			return err
		}
	}
	return nil
}

// printWhy prints the dependencies of one resource in each play that has it.
func printWhy(out *output.Printer, drawings []*graph.Drawing, ref string) error {
	var known []string
	found := false
	for _, d := range drawings {
		for _, i := range d.Find(ref) {
			found = true
			if err := out.Print(d.Why(i)); err != nil {
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
