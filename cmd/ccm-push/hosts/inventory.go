package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
)

// listingFlags select the part and format of the inventory to print.
type listingFlags struct {
	list, graph, vars, export bool
	host                      string
}

func inventoryCommand(f *inventories.Reader, p *output.Printer) *cobra.Command {
	var l listingFlags
	c := &cobra.Command{
		Use:   "inventory [PATTERN]",
		Short: "print the inventory: as a tree, or like ansible-inventory",
		Long: `ccm-push inventory prints the groups and their hosts, or only the hosts of a pattern. The command
contacts no host. With --output json, it prints one JSON object.

--list, --host and --graph print the same output as ansible-inventory, for tools that read this
output. Passwords are replaced by (secret).`,
		Example: `  ccm-push inventory
  ccm-push inventory 'web*:!canary'
  ccm-push inventory --list
  ccm-push inventory --host web1
  ccm-push inventory --graph web --vars
  ccm-push inventory explain web1 http_port
  ccm-push inventory lint`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: f.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("host") && l.host == "" { // a variable of a shell that is not set
				return errors.New("--host is empty")
			}
			return printInventory(cmd.Context(), f, l, p, args)
		},
	}
	set := c.Flags()
	set.SortFlags = false
	set.BoolVar(&l.list, "list", false, "print all groups and variables as JSON, like ansible-inventory")
	set.StringVar(&l.host, "host", "", "print the variables of this `host` as JSON")
	set.BoolVar(&l.graph, "graph", false, "print the tree of groups, like ansible-inventory")
	set.BoolVar(&l.vars, "vars", false, "with --graph: also print variables")
	set.BoolVar(&l.export, "export", false, "with --list: print each variable only once, at the group or host that sets it")
	_ = c.RegisterFlagCompletionFunc("host", f.CompleteHost)
	c.AddCommand(explainCommand(f, p), lintCommand(f, p))
	return c
}

func printInventory(ctx context.Context, f *inventories.Reader, l listingFlags, p *output.Printer, args []string) error {
	if err := l.check(p.Flags.Output.Format, args); err != nil {
		return err
	}
	inv, err := f.Load(ctx)
	if err != nil {
		return err
	}
	if l.graph {
		return printGroups(inv, f, l.vars, p, args)
	}
	hosts, err := someHosts(inv, f, args)
	if err != nil {
		return err
	}
	switch {
	case l.list:
		text, withheld := listing.List(inv, hosts, l.export)
		return printListing(p, text, withheld)
	case l.host != "":
		host, err := listing.FindHost(hosts, l.host)
		if err != nil {
			return err
		}
		text, withheld := listing.HostVars(host)
		return printListing(p, text, withheld)
	}
	sources, err := f.Sources()
	if err != nil {
		return err
	}
	tree := listing.TreeOf(inv, hosts, sources)
	if p.JSON() {
		return output.PrintJSON(p, tree)
	}
	return p.Print(tree.String())
}

// printGroups prints the tree below a group, as ansible-inventory does.
func printGroups(inv *inventory.Inventory, f *inventories.Reader, vars bool, p *output.Printer, args []string) error {
	name := "all"
	if len(args) > 0 {
		name = args[0]
	}
	top, err := listing.FindGroup(inv, name)
	if err != nil {
		return err
	}
	hosts, err := someHosts(inv, f, nil)
	if err != nil {
		return err
	}
	text, withheld := listing.Graph(inv, top, hosts, vars)
	return printListing(p, text, withheld)
}

// printListing prints the text of an inventory, and warns if values were withheld.
func printListing(p *output.Printer, text string, withheld bool) error {
	if withheld {
		p.App.Say("note: passwords are not printed; " + listing.Withheld + " replaces them")
	}
	return p.Print(text)
}

// check refuses flags that contradict each other.
func (l listingFlags) check(output string, args []string) error {
	actions := 0
	for _, given := range []bool{l.list, l.graph, l.host != ""} {
		if given {
			actions++
		}
	}
	switch {
	case actions > 1:
		return errors.New("--list, --host and --graph print different things: give one of them")
	case l.vars && !l.graph:
		return errors.New("--vars needs --graph; for the variables of a host use --host")
	case l.export && !l.list:
		return errors.New("--export changes what --list prints")
	case l.host != "" && len(args) > 0:
		return fmt.Errorf("--host %s selects one host; remove %q", l.host, args[0])
	case l.graph && output != "text":
		return errors.New("--graph prints text; --list prints JSON")
	}
	return nil
}

// someHosts are the hosts of a pattern, or all there are, within --limit.
func someHosts(inv *inventory.Inventory, f *inventories.Reader, args []string) ([]*inventory.Host, error) {
	if len(args) == 0 && f.Flags.Inventory.Limit == "" {
		return inv.Hosts(), nil // no hosts are not an error here
	}
	pattern := "all"
	if len(args) > 0 {
		pattern = args[0]
	}
	return f.SelectHosts(inv, pattern)
}

func explainCommand(f *inventories.Reader, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "explain HOST [KEY]",
		Short: "print all places that set a variable of a host, and the place that applies",
		Long: `ccm-push inventory explain prints the variables of a host, or only KEY, with all places that set
them. The place with the lowest precedence comes first; * marks the value that applies. After the
variables, ccm-push prints the connection settings of the host.

The command shows only values of the inventory. Data of a manifest has lower precedence, and values
of -e have higher precedence. To see the values of all three, use ccm-push render --explain.`,
		Example: `  ccm-push inventory explain web1
  ccm-push inventory explain web1 http_port`,
		Args: cobra.MatchAll(arguments.AtLeast(1), cobra.MaximumNArgs(2)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return arguments.CompleteNth(cmd, 0, args, word, f.CompleteHost)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return printExplanation(cmd.Context(), f, p, args[0], strings.Join(args[1:], ""))
		},
	}
}

func printExplanation(ctx context.Context, f *inventories.Reader, p *output.Printer, name, key string) error {
	inv, err := f.Load(ctx)
	if err != nil {
		return err
	}
	host, err := listing.FindHost(inv.Hosts(), name)
	if g := inv.Group(name); err != nil && g != nil {
		return fmt.Errorf("%q is a group, and explain needs one host; ccm-push --list-hosts %s lists its hosts", name, name)
	}
	if err != nil {
		return err
	}
	found, err := listing.Explain(host, key)
	if err != nil {
		return err
	}
	if p.JSON() {
		return output.PrintJSON(p, found...)
	}
	return p.Print(listing.ExplanationText(found))
}

func lintCommand(f *inventories.Reader, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "lint",
		Short: "print values that other tools or people may read differently",
		Long: `ccm-push inventory lint reports values of the inventory, and of its group_vars and host_vars, that
can be misread. Examples are values that Ansible (YAML 1.1) and ccm-push (YAML 1.2) read
differently: yes and on, octal numbers, numbers in base 60, dates, numbers with _ or an exponent.
It also reports numbers that lose digits, such as the version 1.10.

The command also reports passwords in clear text, and errors that make hosts unreachable. It reports
variables that Ansible replaces by its own values, such as inventory_hostname. If the command
reports something, the exit status is 1.`,
		Example: `  ccm-push inventory lint
  ccm-push -i hosts.yaml inventory lint`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return printLint(cmd.Context(), f, p) },
	}
}

func printLint(ctx context.Context, f *inventories.Reader, p *output.Printer) error {
	inv, err := f.Load(ctx)
	if err != nil {
		return err
	}
	found := listing.Lint(inv)
	if p.JSON() {
		err = output.PrintJSON(p, found...)
	} else {
		err = p.Print(listing.FindingsText(found))
	}
	if err != nil || len(found) == 0 {
		return err
	}
	return exit.Status(exit.Usage)
}
