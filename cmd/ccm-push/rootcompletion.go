package main

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/runs"
	"github.com/ccm-push/ccm-push/modules"
)

// completeRoot sets the completion of arguments without a command, and of the values of shared flags.
func completeRoot(root *cobra.Command, types modules.Registry, f *inventories.Reader, session *runs.Sessions) {
	root.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return completeArgument(types, args, word)
		}
		names, _ := f.CompleteTerm(cmd, args, word)
		files, directive := completeManifest(word)
		return append(names, files...), directive
	}
	values := func(names ...string) arguments.Completer {
		return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return arguments.Completions("", word, names), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, complete := range map[string]arguments.Completer{
		"limit": f.CompleteLimit, "follow": f.CompleteLimit, "canary": f.CompleteHost, "tags": arguments.CompleteTag(types), "skip-tags": arguments.CompleteTag(types), "start-at": arguments.CompleteResource(types),
		"output": completeOutput, "color": values("auto", "always", "never"), "fold": values("auto", "always", "never"),
		"progress":      values(flags.ProgressModes...),
		"become-method": values("sudo", "su", "doas"), "host-key-checking": values("strict", "accept-new"),
		"session": session.Complete(false), "require": session.Complete(true), "subscribe": session.Complete(true),
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
	return arguments.Completions("", word, formats), cobra.ShellCompDirectiveNoFileComp
}

// completeArgument completes the words after the first: manifests, or after a pattern a resource type and its
// properties.
func completeArgument(types modules.Registry, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case arguments.IsManifestName(args[0]):
		return completeManifest(word)
	case len(args) == 1:
		return arguments.Completions("", word, types.Names()), cobra.ShellCompDirectiveNoFileComp
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
		case arguments.IsManifestName(name):
			files = append(files, name)
		}
	}
	files, folders = arguments.Completions(folder, begun, files), arguments.Completions(folder, begun, folders)
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
		return arguments.Completions("", word, names), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	if len(names) == 0 { // a path, perhaps
		return nil, cobra.ShellCompDirectiveDefault
	}
	return arguments.Completions("", word, names), cobra.ShellCompDirectiveNoFileComp
}
