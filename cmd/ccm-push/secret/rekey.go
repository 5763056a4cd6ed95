package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/project"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func secretRekeyCommand(f *access.Unsealer, p *output.Printer) *cobra.Command {
	var o project.RekeyOptions
	c := &cobra.Command{
		Use:   "rekey",
		Short: "encrypt files again for the current people of the rules",
		Long: `The rules in .ccm-secrets.yaml define the people who can read each file. If a file is not encrypted
for exactly these people, ccm-push secret rekey encrypts all of its values again, with a new key.
The command changes all of these files, or none. If the command is killed, the next ccm-push command
that reads such a file completes the change.

With --check, nothing changes, and exit status 8 means that a file needs a rekey (for CI). People
who could read a file before may have kept its content, so also change the secrets themselves.`,
		Example: `  ccm-push secret rekey
  ccm-push secret rekey --check
  ccm-push secret rekey --moved host_vars/web2.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.TextOnly("secret rekey"); err != nil {
				return err
			}
			one, err := project.Of(".")
			switch {
			case err != nil:
				return err
			case f.Flags.Mode.Check:
				return checkRekey(p, one)
			}
			return rekey(cmd.Context(), f, p, one, o)
		},
	}
	c.Flags().BoolVar(&o.All, "all", false, "also rekey files that already have the right recipients")
	c.Flags().StringArrayVar(&o.Moved, "moved", nil, "accept that this encrypted `file` was moved or copied; may be repeated")
	return c
}

func rekey(ctx context.Context, f *access.Unsealer, p *output.Printer, one *project.Project, o project.RekeyOptions) error {
	names, err := one.Rekey(f.AgeKeys(ctx), o)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return p.Print("all files have the recipients of .ccm-secrets.yaml\n")
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "rekeyed %s\n", events.Line(name))
	}
	return p.Print(b.String())
}

// checkRekey prints the changes that rekey would make, without a key.
func checkRekey(p *output.Printer, one *project.Project) error {
	documents, err := one.Documents()
	if err != nil {
		return err
	}
	var b strings.Builder
	var errs yamlpos.Errors
	for _, d := range documents {
		a, err := d.Access()
		if err != nil {
			errs.Add(err)
			continue
		}
		errs.Add(errors.Join(a.Moved, a.RuleOf))
		if !a.Right && a.Moved == nil && a.RuleOf == nil {
			fmt.Fprintf(&b, "%s: %s\n", events.Line(a.Name), changeOf(a))
		}
	}
	if err := errors.Join(p.Print(b.String()), errs.Err()); err != nil {
		return err
	}
	if b.Len() > 0 {
		return exit.Status(exit.Changed)
	}
	return nil
}

// changeOf describes how the readers of a file would change.
func changeOf(a *project.Access) string {
	var parts []string
	for _, who := range a.To {
		if !slices.Contains(a.Can, who) {
			parts = append(parts, "+"+who.Name)
		}
	}
	for _, who := range a.Can {
		if !slices.Contains(a.To, who) {
			parts = append(parts, "-"+who.Name)
		}
	}
	if a.Others > 0 {
		parts = append(parts, fmt.Sprintf("it is for %d age keys that it does not name", a.Others))
	}
	if len(parts) == 0 {
		parts = []string{"the names have changed"}
	}
	return events.Line(strings.Join(parts, " "))
}

func secretWhoCommand(p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "who [FILE...]",
		Short: "print who can read which file",
		Long: `ccm-push secret who prints which people can read which encrypted files. It needs no private key.
Without FILE, it prints all encrypted files of the project.

+NAME means that the rules of .ccm-secrets.yaml allow the person to read the file, but the file is
not yet encrypted for them. -NAME means that the person can read the file, but the rules do not
allow it. In both cases run ccm-push secret rekey.`,
		Example: `  ccm-push secret who
  ccm-push secret who group_vars/prod/db.yaml`,
		RunE: func(_ *cobra.Command, args []string) error { return printWho(p, args) },
	}
}

// A whoLine is a file as --output json lists it.
type whoLine struct {
	File   string    `json:"file"`
	Can    []whoName `json:"can"`
	Others int       `json:"other_keys,omitempty"`
	Rules  []whoName `json:"rules"`
	Right  bool      `json:"right"`
}

type whoName struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

func printWho(p *output.Printer, names []string) error {
	list, err := accesses(names)
	if err != nil {
		return err
	}
	if p.JSON() {
		lines := make([]whoLine, 0, len(list))
		for _, a := range list {
			lines = append(lines, whoLine{a.Name, whoNames(a.Can), a.Others, whoNames(a.To), a.Right})
		}
		return output.PrintJSON(p, lines...)
	}
	if err := p.TextOnly("secret who"); err != nil {
		return err
	}
	if len(list) == 0 {
		return p.Print("nothing is encrypted here\n")
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, a := range list {
		can := "not encrypted"
		if names := namesOf(a.Can); names != "" || a.Others > 0 {
			can = names
		}
		if !a.Right && a.Moved == nil && (len(a.Can) > 0 || a.Others > 0) {
			can += "\t" + changeOf(a)
		}
		if a.Moved != nil {
			can += "\t(moved)"
		}
		fmt.Fprintf(table, "%s\t%s\n", events.Line(a.Name), can)
	}
	table.Flush()
	return p.Print(b.String())
}

// accesses returns the access to files, or to all files of the project in this folder.
func accesses(names []string) (list []*project.Access, err error) {
	if len(names) == 0 {
		one, err := project.Of(".")
		if err != nil {
			return nil, err
		}
		documents, err := one.Documents()
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			a, err := d.Access()
			if err != nil {
				return nil, err
			}
			list = append(list, a)
		}
		return list, nil
	}
	for _, name := range names {
		file, err := openFile(name)
		if err != nil {
			return nil, err
		}
		a, err := file.Access()
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func namesOf(list []agefile.Who) string {
	var names []string
	for _, who := range list {
		names = append(names, who.Name)
	}
	return events.Line(strings.Join(slices.Compact(names), ", "))
}

func whoNames(list []agefile.Who) []whoName {
	names := make([]whoName, 0, len(list))
	for _, who := range list {
		names = append(names, whoName(who))
	}
	return names
}
