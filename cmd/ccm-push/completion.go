package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
)

const (
	// completionTime bounds how long a shell waits for the inventory.
	completionTime = 2 * time.Second
	// maxCompletions is how many names a shell is offered.
	maxCompletions = 1000
)

// A completer is what cobra asks for the words that can stand in a place.
type completer = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completePattern completes the last term of the first word, a pattern.
func (a *app) completePattern(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return a.completeNth(cmd, 0, args, word, a.completeTerm)
}

// completeNth completes one of the words of a command.
func (a *app) completeNth(cmd *cobra.Command, n int, args []string, word string, names completer) ([]string, cobra.ShellCompDirective) {
	if len(args) != n {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(cmd, args, word)
}

// completeRoot completes what stands without a command: manifests, or a pattern
// and a resource type.
func (a *app) completeRoot(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		names, _ := a.completeTerm(cmd, args, word)
		return names, cobra.ShellCompDirectiveDefault
	case 1:
		return completions("", word, a.registry.Names()), cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// completeRender completes manifests and, behind them, the name of a host.
func (a *app) completeRender(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := a.completeHost(cmd, args, word)
	return names, cobra.ShellCompDirectiveDefault
}

// completeTerm completes the last term of a pattern with groups and hosts.
func (a *app) completeTerm(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	inv := a.completionInventory(cmd.Context())
	if inv == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	begin := strings.LastIndexAny(word, ",:&!") + 1
	var names []string
	for _, g := range inv.Groups() {
		names = append(names, g.Name)
	}
	names = append(names, listing.Names(inv.Hosts())...)
	return completions(word[:begin], word[begin:], names), cobra.ShellCompDirectiveNoFileComp
}

// completeHost completes the name of one host.
func (a *app) completeHost(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	inv := a.completionInventory(cmd.Context())
	if inv == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions("", word, listing.Names(inv.Hosts())), cobra.ShellCompDirectiveNoFileComp
}

func completions(before, begun string, names []string) []string {
	var list []string
	for _, name := range names {
		if strings.HasPrefix(name, begun) && len(list) < maxCompletions {
			list = append(list, before+name)
		}
	}
	return list
}

// completionInventory reads the inventory for somebody who has pressed a key: it
// runs no script and says nothing. It is nil if there is no inventory to be had
// in that way.
func (a *app) completionInventory(ctx context.Context) *inventory.Inventory {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	paths, err := a.inventoryPaths()
	if err != nil {
		return nil
	}
	var readable []string
	for _, path := range paths {
		// What may be a script is passed over, and what is no file at all.
		info, err := os.Stat(path)
		if err != nil && strings.Contains(path, ",") || err == nil && (info.IsDir() || info.Mode().IsRegular() && info.Mode()&0o111 == 0) {
			readable = append(readable, path)
		}
	}
	options := a.flags.inventoryOptions()
	options.AllowScripts = false
	inv, err := inventory.Load(ctx, readable, options)
	if err != nil {
		return nil
	}
	return inv
}
