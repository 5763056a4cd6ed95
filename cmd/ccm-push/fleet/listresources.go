package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// printResources prints what the plays of manifests are about, with tags and positions.
// Names that depend on the host are shown as they are written.
func (p *Plays) printResources(ctx context.Context, out *output.Printer, paths []string) error {
	waiting, end := p.Fleet.App.UntilStop(ctx)
	list, err := p.load(waiting, paths)
	end()
	switch {
	case p.Fleet.App.Stopped():
		return exit.Status(exit.Interrupted)
	case err != nil:
		return err
	}
	if err := out.TextOnly("--list-resources"); err != nil {
		return err
	}
	return out.Print(resourceList(list))
}

func resourceList(plays []*manifest.Play) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, p := range plays {
		fmt.Fprintf(table, "play %q, hosts %q%s:\n", p.Name, p.HostPattern(), tagList(", tags ", p.Tags))
		if p.JetFile != nil {
			fmt.Fprintf(table, "  resources that %s writes for each host\t\t%s\n", p.JetFile.Text, p.JetFile.Pos())
		}
		listed(table, p.Resources, "  ")
	}
	table.Flush() // a strings.Builder takes everything
	return b.String()
}

// listed prints a list of resources, and indented below one that applies a
// manifest the resources of that.
func listed(table io.Writer, resources []*manifest.Resource, indent string) {
	for _, r := range resources {
		if r.Unselected {
			continue
		}
		name := r.Type.Name + "#" + events.Line(r.Name.Node.Text)
		if r.Alias != nil {
			name += " (" + events.Line(r.Alias.Node.Text) + ")"
		}
		if r.On != nil {
			name = events.Where(name, events.Line(r.On.Node.Text))
		}
		if part := r.Part(); part != "" {
			name += " in " + part
		}
		fmt.Fprintf(table, "%s%s\t%s\t%s\n", indent, name, tagList("", r.Tags), r.Name.Node.Pos())
		switch {
		case r.Child != nil && r.Child.JetFile != nil:
			fmt.Fprintf(table, "%s  resources that %s writes for each host\t\t%s\n", indent, r.Child.JetFile.Text, r.Child.JetFile.Pos())
		case r.Child != nil:
			listed(table, r.Child.Resources, indent+"  ")
		case r.Unknown():
			fmt.Fprintf(table, "%s  what that is for each host\t\t\n", indent)
		}
	}
}

func tagList(before string, tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return before + "[" + strings.Join(tags, " ") + "]"
}
