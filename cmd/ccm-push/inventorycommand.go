package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// inventoryFlags say what of the inventory is printed.
type inventoryFlags struct {
	list, graph, vars, export bool
	host                      string
}

func (a *app) inventoryCommand() *cobra.Command {
	var f inventoryFlags
	c := &cobra.Command{
		Use:   "inventory [PATTERN]",
		Short: "print the inventory: a tree, or what ansible-inventory prints of it",
		Long: `inventory prints the groups with the hosts in them, those of a pattern if one is
given, and contacts no host. With --output json that is one JSON object.

--list, --host and --graph print what ansible-inventory prints, so that a file
with it serves other tools as an inventory. Passwords are not printed: in their
place stands (secret).`,
		Example: `  ccm-push inventory
  ccm-push inventory 'web*:!canary'
  ccm-push inventory --list
  ccm-push inventory --host web1
  ccm-push inventory --graph web --vars
  ccm-push inventory explain web1 http_port
  ccm-push inventory lint`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("host") && f.host == "" { // a variable of a shell that is not set
				return errors.New("--host is empty")
			}
			return a.inventory(cmd.Context(), f, args)
		},
	}
	set := c.Flags()
	set.SortFlags = false
	set.BoolVar(&f.list, "list", false, "print JSON of all groups and variables, as ansible-inventory does")
	set.StringVar(&f.host, "host", "", "print JSON of the variables of this host")
	set.BoolVar(&f.graph, "graph", false, "print the tree below all, or below the group that is named, as ansible-inventory does")
	set.BoolVar(&f.vars, "vars", false, "with --graph: the variables too")
	set.BoolVar(&f.export, "export", false, "with --list: variables at the group or host they are set for")
	_ = c.RegisterFlagCompletionFunc("host", a.completeHost)
	c.AddCommand(a.explainCommand(), a.lintCommand())
	return c
}

func (a *app) inventory(ctx context.Context, f inventoryFlags, args []string) error {
	if err := f.check(a.flags.output, args); err != nil {
		return err
	}
	inv, err := a.loadInventory(ctx)
	if err != nil {
		return err
	}
	if f.graph {
		return a.printGraph(inv, f.vars, args)
	}
	hosts, err := a.someHosts(inv, args)
	if err != nil {
		return err
	}
	switch {
	case f.list:
		return a.printListing(listing.List(inv, hosts, f.export))
	case f.host != "":
		host, err := oneHost(hosts, f.host)
		if err != nil {
			return err
		}
		return a.printListing(listing.HostVars(host))
	}
	return a.printTree(inv, hosts)
}

// printListing prints what stands for the inventory, and says if there is something
// that does not.
func (a *app) printListing(text string, withheld bool) error {
	if withheld {
		a.say("note: passwords are not printed; " + listing.Withheld + " stands in their place")
	}
	return a.print(text)
}

// printTree prints the groups of some hosts for people, or as JSON.
func (a *app) printTree(inv *inventory.Inventory, hosts []*inventory.Host) error {
	sources, err := a.inventoryPaths()
	if err != nil {
		return err
	}
	tree := listing.TreeOf(inv, hosts, sources)
	if a.flags.output == "json" {
		return printLines(a, []listing.Tree{tree})
	}
	return a.print(tree.String())
}

// printLines prints each value as JSON on a line.
func printLines[T any](a *app, values []T) error {
	var b strings.Builder
	for _, v := range values {
		line, err := printable.JSON(v)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return a.print(b.String())
}

func (a *app) printGraph(inv *inventory.Inventory, vars bool, args []string) error {
	top, err := graphTop(inv, args)
	if err != nil {
		return err
	}
	hosts, err := a.someHosts(inv, nil)
	if err != nil {
		return err
	}
	return a.printListing(listing.Graph(inv, top, hosts, vars))
}

func graphTop(inv *inventory.Inventory, args []string) (*inventory.Group, error) {
	name := "all"
	if len(args) > 0 {
		name = args[0]
	}
	var names []string
	for _, g := range inv.Groups() {
		if g.Name == name {
			return g, nil
		}
		names = append(names, g.Name)
	}
	hint := "; -l takes a pattern"
	if meant := yamlpos.Suggest(name, names); meant != "" {
		hint = fmt.Sprintf("; did you mean %q?", meant)
	}
	return nil, fmt.Errorf("--graph begins at a group, and there is no group %q%s", name, hint)
}

// check refuses flags that contradict each other.
func (f inventoryFlags) check(output string, args []string) error {
	actions := 0
	for _, given := range []bool{f.list, f.graph, f.host != ""} {
		if given {
			actions++
		}
	}
	switch {
	case actions > 1:
		return errors.New("--list, --host and --graph print different things: give one of them")
	case f.vars && !f.graph:
		return errors.New("--vars adds to --graph; for the variables of a host there is --host")
	case f.export && !f.list:
		return errors.New("--export changes what --list prints")
	case f.host != "" && len(args) > 0:
		return fmt.Errorf("--host %s is one host; leave %q out", f.host, args[0])
	case f.graph && output != "text":
		return errors.New("--graph prints text; --list prints JSON")
	}
	return nil
}

// someHosts are the hosts of a pattern, or all there are, within --limit.
func (a *app) someHosts(inv *inventory.Inventory, args []string) ([]*inventory.Host, error) {
	if len(args) == 0 && a.flags.limit == "" {
		return inv.Hosts(), nil // none is no error here
	}
	pattern := "all"
	if len(args) > 0 {
		pattern = args[0]
	}
	return a.selectHosts(inv, pattern)
}

// oneHost finds a host by its name.
func oneHost(hosts []*inventory.Host, name string) (*inventory.Host, error) {
	for _, h := range hosts {
		if h.Name == name {
			return h, nil
		}
	}
	if meant := meantHost(hosts, name); meant != "" {
		return nil, fmt.Errorf("there is no host %q; did you mean %q?", name, meant)
	}
	return nil, fmt.Errorf("there is no host %q", name)
}

// meantHost finds a host of nearly that name, or else one of nearly that first label:
// web04 may be meant to be web01.example.com.
func meantHost(hosts []*inventory.Host, name string) string {
	names := listing.Names(hosts)
	if meant := yamlpos.Suggest(name, names); meant != "" {
		return meant
	}
	labels := make([]string, len(names))
	for i, n := range names {
		labels[i], _, _ = strings.Cut(n, ".")
	}
	if i := slices.Index(labels, cmp.Or(yamlpos.Suggest(name, labels), name)); i >= 0 {
		return names[i]
	}
	return ""
}
