package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
)

func (a *app) explainConnectionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain-connection PATTERN...",
		Short: "print how hosts are reached, and where each setting is from; connects to none",
		Long: `explain-connection prints each setting of the connection to a host, its value and
where it is from: the command line, the inventory, ssh_config, or a default. The
first of these that says something counts. Jump hosts follow, outermost first. Of a
host that cannot be reached as the inventory says, it prints why.
Hosts that are reached alike are shown once; {host} then stands for their names.`,
		Args:              atLeast(1),
		ValidArgsFunction: a.completeTerm, // of each word
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.flags.listHosts {
				return a.listPattern(cmd.Context(), args)
			}
			return a.explainConnection(cmd.Context(), args)
		},
	}
}

func (a *app) explainConnection(ctx context.Context, patterns []string) error {
	r, err := a.runner(ctx)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	a.mentionPasswords(&r.Connect)
	hosts, err := a.selectAll(r.Inventory, patterns)
	if err != nil {
		return err
	}
	var all []reach.Reached
	for _, h := range hosts {
		reached, err := r.Connect.Explain(r.Inventory, h)
		if err != nil {
			return positioned(err)
		}
		all = append(all, reached)
	}
	if a.flags.output == "json" {
		return a.printReached(all)
	}
	return a.print(reachedText(all))
}

// mentionPasswords lets the explanation say where passwords would be from: nobody
// is asked for them.
func (a *app) mentionPasswords(c *reach.Options) {
	if a.flags.passwords.HasPassword() {
		c.Password = transport.NewSecret(nil)
	}
	if a.flags.passwords.HasBecome() {
		c.BecomePassword = transport.NewSecret(nil)
	}
}

// selectAll gives the hosts of several patterns, each once.
func (a *app) selectAll(inv *inventory.Inventory, patterns []string) ([]*inventory.Host, error) {
	var all []*inventory.Host
	met := map[string]bool{}
	for _, pattern := range patterns {
		hosts, err := a.selectHosts(inv, pattern)
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			if !met[h.Name] {
				met[h.Name] = true
				all = append(all, h)
			}
		}
	}
	return all, nil
}

// reachedText shows hosts that are reached alike once, in the order of the first of
// each.
func reachedText(all []reach.Reached) string {
	names := map[string][]string{} // of the hosts, by how they are reached
	alone := map[string]string{}   // how the first of them is, with its own name
	var order []string
	for _, one := range all {
		alike := reachedSettings(one, "{host}")
		if names[alike] == nil {
			order = append(order, alike)
			alone[alike] = reachedSettings(one, one.Host)
		}
		names[alike] = append(names[alike], one.Host)
	}
	var b strings.Builder
	for i, alike := range order {
		if i > 0 {
			b.WriteString("\n")
		}
		text := alike
		if len(names[alike]) == 1 {
			text = alone[alike]
		}
		b.WriteString(events.Line(pattern.Fold(names[alike])) + "\n" + text)
	}
	return b.String()
}

// reachedSettings is a line per value. name stands for that of the host where its
// address is made of it.
func reachedSettings(one reach.Reached, name string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range one.Refused {
		fmt.Fprintf(w, "  refused\t%s\t%s\n", events.Line(e.Msg), events.Line(e.Pos()))
	}
	settingLines(w, "  ", one.Settings, func(text string) string { return strings.ReplaceAll(text, one.Host, name) })
	for i, hop := range one.Jump {
		fmt.Fprintf(w, "  %s %s\n", []string{"through", "then through"}[min(i, 1)], events.Line(hop.Host))
		settingLines(w, "    ", hop.Settings, func(text string) string { return text })
	}
	w.Flush()
	return b.String()
}

func settingLines(w *tabwriter.Writer, indent string, settings []reach.Reason, named func(string) string) {
	last := ""
	for _, s := range settings {
		for _, v := range s.Values {
			setting := s.Setting
			if setting == last { // of a list
				setting = ""
			}
			last = s.Setting
			if s.Setting == "address" {
				v = named(v)
			}
			fmt.Fprintf(w, "%s%s\t%s\t%s\n", indent, setting, events.Line(v), events.Line(s.Origin))
		}
	}
}

// reachedJSON is the JSON of a host.
type reachedJSON struct {
	Host     string        `json:"host"`
	Settings []reasonJSON  `json:"settings"`
	Jump     []reachedJSON `json:"jump,omitempty"`
	Refused  []refusalJSON `json:"refused,omitempty"`
}

// refusalJSON is why a host is not reached.
type refusalJSON struct {
	Error  string `json:"error"`
	Hint   string `json:"hint"`
	Origin string `json:"origin"`
}

type reasonJSON struct {
	Setting string   `json:"setting"`
	Values  []string `json:"values"`
	Origin  string   `json:"origin"`
}

func toJSON(one reach.Reached) reachedJSON {
	out := reachedJSON{Host: one.Host, Settings: []reasonJSON{}}
	for _, e := range one.Refused {
		out.Refused = append(out.Refused, refusalJSON{e.Msg, e.Hint, e.Pos()})
	}
	for _, s := range one.Settings {
		out.Settings = append(out.Settings, reasonJSON(s))
	}
	for _, hop := range one.Jump {
		out.Jump = append(out.Jump, toJSON(hop))
	}
	return out
}

// printReached prints a line of JSON per host.
func (a *app) printReached(all []reach.Reached) error {
	for _, one := range all {
		line, err := events.Encode(toJSON(one))
		if err != nil {
			return err
		}
		if err := a.print(string(line) + "\n"); err != nil {
			return err
		}
	}
	return nil
}
