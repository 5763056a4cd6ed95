package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// listResources prints what the plays are about, with tags and positions. Names
// that depend on the host are shown as they are written.
func (a *app) listResources(plays []*manifest.Play) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, p := range plays {
		fmt.Fprintf(table, "play %q, hosts %q%s:\n", p.Name, p.HostPattern(), tagList(", tags ", p.Tags))
		if p.JetFile != nil {
			fmt.Fprintf(table, "  what %s writes for each host\t\t%s\n", p.JetFile.Text, p.JetFile.Pos())
		}
		for _, r := range p.Resources {
			if r.Unselected {
				continue
			}
			name := r.Type.Name + "#" + events.Line(r.Name.Node.Text)
			if r.Alias != nil {
				name += " (" + events.Line(r.Alias.Node.Text) + ")"
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", name, tagList("", r.Tags), r.Name.Node.Pos())
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return a.print(b.String())
}

func tagList(before string, tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return before + "[" + strings.Join(tags, " ") + "]"
}
