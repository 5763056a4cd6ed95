package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

const (
	// completionTime bounds how long a shell waits for the inventory.
	completionTime = 2 * time.Second
	// maxCompletions bounds the names that a shell is offered.
	maxCompletions = 1000
)

// A completer returns the words that complete an argument or a flag.
type completer = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completePattern completes the last term of the first word, a pattern.
func (f *inventories) completePattern(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return completeNth(cmd, 0, args, word, f.completeTerm)
}

// completeNth completes one of the words of a command.
func completeNth(cmd *cobra.Command, n int, args []string, word string, names completer) ([]string, cobra.ShellCompDirective) {
	if len(args) != n {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(cmd, args, word)
}

// completeRun completes the id of a recorded run that is meant, as one of the first words of a command. No
// meant means all runs.
func completeRun(a *app, words int, meant ...func(*record.Run) bool) completer {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		const newest = 30 // maximum number of completions
		store, err := record.In(a.getenv)
		if err != nil || len(args) >= words {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		runs, _ := store.List() // unreadable runs are not offered
		names := completions("", word, []string{"last"})
		for _, of := range meant {
			runs = slices.DeleteFunc(runs, func(r *record.Run) bool { return !of(r) })
		}
		for _, r := range runs[:min(newest, len(runs))] {
			if strings.HasPrefix(r.Run, strings.ToUpper(word)) {
				about := r.Started.Local().Format("2006-01-02 15:04") + " " + whatOf(r.Header) + ", " + string(r.Outcome())
				names = append(names, cobra.CompletionWithDesc(r.Run, about))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeRoot sets the completion of arguments without a command, and of the values of shared flags.
func completeRoot(root *cobra.Command, types modules.Registry, f *inventories, session *sessions) {
	root.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return completeArgument(types, args, word)
		}
		names, _ := f.completeTerm(cmd, args, word)
		files, directive := completeManifest(word)
		return append(names, files...), directive
	}
	values := func(names ...string) completer {
		return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return completions("", word, names), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, complete := range map[string]completer{
		"limit": f.completeLimit, "follow": f.completeLimit, "canary": f.completeHost, "tags": completeTag(types), "skip-tags": completeTag(types), "start-at": completeResource(types),
		"output": completeOutput, "color": values("auto", "always", "never"), "fold": values("auto", "always", "never"),
		"progress":      values(flags.ProgressModes...),
		"become-method": values("sudo", "su", "doas"), "host-key-checking": values("strict", "accept-new"),
		"session": session.complete(false), "require": session.complete(true), "subscribe": session.complete(true),
		flags.DestinationFlag: values(flags.Destinations...),
	} {
		_ = root.RegisterFlagCompletionFunc(flag, complete)
	}
}

func completeOutput(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	formats := []string{"text", "json", "dsc-json"}
	if cmd.Name() == "validate" {
		formats = []string{"text", "json", "github", "gitlab"}
	}
	return completions("", word, formats), cobra.ShellCompDirectiveNoFileComp
}

// completeArgument completes the words after the first: manifests, or after a pattern a resource type and its
// properties.
func completeArgument(types modules.Registry, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case isManifestName(args[0]):
		return completeManifest(word)
	case len(args) == 1:
		return completions("", word, types.Names()), cobra.ShellCompDirectiveNoFileComp
	}
	t, ok := types.Lookup(args[1])
	if !ok || len(args) == 2 { // the name
		return nil, cobra.ShellCompDirectiveDefault
	}
	if t.CommandLine != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return completeProperty(t, word)
}

// isManifestName reports whether a file may be a manifest, or an archive with one.
func isManifestName(name string) bool {
	return source.IsArchive(name) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// completeManifest completes the path of a manifest: other files and hidden ones are not offered.
func completeManifest(word string) ([]string, cobra.ShellCompDirective) {
	folder, begun := filepath.Split(word)
	entries, _ := os.ReadDir(cmp.Or(folder, ".")) // a folder that cannot be read has no words
	var files, folders []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".") && !strings.HasPrefix(begun, "."):
		case isFolder(filepath.Join(folder, name)):
			folders = append(folders, name+"/")
		case isManifestName(name):
			files = append(files, name)
		}
	}
	files, folders = completions(folder, begun, files), completions(folder, begun, folders)
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(files) == 0 && len(folders) > 0 {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return append(files, folders...), directive
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// completeProperty completes property=value of a resource on the command line.
func completeProperty(t modules.Type, word string) ([]string, cobra.ShellCompDirective) {
	written, _, hasValue := strings.Cut(word, "=")
	var names []string
	for _, f := range modules.Fields(t.New()) {
		spellings := append([]string{f.Name}, f.Also...)
		switch {
		case f.Name == "name":
		case !hasValue:
			names = append(names, f.Name+"=")
		case !slices.Contains(spellings, written):
		case f.Type.Kind() == reflect.Bool:
			names = append(names, written+"=true", written+"=false")
		default:
			for _, value := range f.Enum {
				names = append(names, written+"="+value)
			}
		}
	}
	if !hasValue {
		return completions("", word, names), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	if len(names) == 0 { // a path, perhaps
		return nil, cobra.ShellCompDirectiveDefault
	}
	return completions("", word, names), cobra.ShellCompDirectiveNoFileComp
}

// completeType completes the name of one resource type.
func completeType(types modules.Registry) completer {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completions("", word, types.Names()), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTag completes the last of several tags with the tags of the manifests on the command line.
func completeTag(types modules.Registry) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		var tags []string
		for _, p := range completionPlays(cmd.Context(), types, args) {
			tags = append(tags, p.Tags...)
			manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) { tags = append(tags, r.Tags...) })
		}
		slices.Sort(tags)
		begin := strings.LastIndexByte(word, ',') + 1
		return completions(word[:begin], word[begin:], slices.Compact(tags)), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeResource completes type#name, with the resources of the manifests on the
// command line.
func completeResource(types modules.Registry) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		var refs []string
		for _, p := range completionPlays(cmd.Context(), types, args) {
			manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) { refs = append(refs, r.Ref()) })
		}
		return completions("", word, refs), cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPlays reads manifests after the Tab key: as far as they can be read, without downloads and messages.
func completionPlays(ctx context.Context, types modules.Registry, words []string) []*manifest.Play {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	var paths []string
	for _, word := range words {
		if info, err := os.Stat(word); err == nil && (info.Mode().IsRegular() && !source.IsArchive(word) || info.IsDir()) {
			paths = append(paths, word)
		}
	}
	plays, _ := load.Files(ctx, paths, types) // validate reports their errors
	return plays
}

// completeLastHost completes manifests and, after them, the name of a host.
func (f *inventories) completeLastHost(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := f.completeHost(cmd, args, word)
	return names, cobra.ShellCompDirectiveDefault
}

// completeLimit completes the last term of --limit, which may be hosts of the last run.
func (f *inventories) completeLimit(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	begin := strings.LastIndexByte(word, ',') + 1
	if !strings.HasPrefix(word[begin:], "@") {
		return f.completeTerm(cmd, args, word)
	}
	var terms []string
	for _, state := range record.States {
		terms = append(terms, "@last:"+state)
	}
	return completions(word[:begin], word[begin:], terms), cobra.ShellCompDirectiveDefault // or a file
}

// completeTerm completes the last term of a pattern with groups and hosts.
func (f *inventories) completeTerm(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	inv := f.completionInventory(cmd.Context())
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
func (f *inventories) completeHost(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	inv := f.completionInventory(cmd.Context())
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

// completionInventory reads the inventory after the Tab key: it runs no scripts and prints nothing. It returns nil if
// no inventory can be read like that.
func (f *inventories) completionInventory(ctx context.Context) *inventory.Inventory {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	paths, err := f.sources()
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
	options := f.flags.Inventory.Options
	options.AllowScripts = false
	inv, err := inventory.Load(ctx, readable, options)
	if err != nil {
		return nil
	}
	return inv
}
