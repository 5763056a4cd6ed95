package inventories

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// CompletePattern completes the last term of the first word, a pattern.
func (f *Reader) CompletePattern(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return arguments.CompleteNth(cmd, 0, args, word, f.CompleteTerm)
}

// CompleteLastHost completes manifests and, after them, the name of a host.
func (f *Reader) CompleteLastHost(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := f.CompleteHost(cmd, args, word)
	return names, cobra.ShellCompDirectiveDefault
}

// CompleteLimit completes the last term of --limit, which may be hosts of the last run.
func (f *Reader) CompleteLimit(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	begin := strings.LastIndexByte(word, ',') + 1
	if !strings.HasPrefix(word[begin:], "@") {
		return f.CompleteTerm(cmd, args, word)
	}
	var terms []string
	for _, state := range record.States {
		terms = append(terms, "@last:"+state)
	}
	return arguments.Completions(word[:begin], word[begin:], terms), cobra.ShellCompDirectiveDefault // or a file
}

// CompleteTerm completes the last term of a pattern with groups and hosts.
func (f *Reader) CompleteTerm(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	inv := f.CompletionInventory(cmd.Context())
	if inv == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	begin := strings.LastIndexAny(word, ",:&!") + 1
	var names []string
	for _, g := range inv.Groups() {
		names = append(names, g.Name)
	}
	names = append(names, listing.Names(inv.Hosts())...)
	return arguments.Completions(word[:begin], word[begin:], names), cobra.ShellCompDirectiveNoFileComp
}

// CompleteHost completes the name of one host.
func (f *Reader) CompleteHost(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	inv := f.CompletionInventory(cmd.Context())
	if inv == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return arguments.Completions("", word, listing.Names(inv.Hosts())), cobra.ShellCompDirectiveNoFileComp
}

// CompletionInventory reads the inventory after the Tab key: it runs no scripts and prints nothing. It returns nil if
// no inventory can be read like that.
func (f *Reader) CompletionInventory(ctx context.Context) *inventory.Inventory {
	ctx, cancel := context.WithTimeout(ctx, arguments.CompletionTime)
	defer cancel()
	paths, err := f.Sources()
	if err != nil {
		return nil
	}
	var readable []string
	for _, path := range paths {
		// Skip possible scripts and paths that are not files.
		info, err := os.Stat(path)
		if err != nil && strings.Contains(path, ",") || err == nil && (info.IsDir() || info.Mode().IsRegular() && info.Mode()&0o111 == 0) {
			readable = append(readable, path)
		}
	}
	options := f.Flags.Inventory.Options
	options.AllowScripts = false
	inv, err := inventory.Load(ctx, readable, options)
	if err != nil {
		return nil
	}
	return inv
}
