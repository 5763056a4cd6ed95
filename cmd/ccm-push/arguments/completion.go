package arguments

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

const (
	// CompletionTime bounds how long a shell waits for the inventory.
	CompletionTime = 2 * time.Second
	// maxCompletions bounds the names that a shell is offered.
	maxCompletions = 1000
)

// A Completer returns the words that complete an argument or a flag.
type Completer = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// CompleteNth completes one of the words of a command.
func CompleteNth(cmd *cobra.Command, n int, args []string, word string, names Completer) ([]string, cobra.ShellCompDirective) {
	if len(args) != n {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(cmd, args, word)
}

// CompleteRun completes the id of a recorded run that is meant, as one of the first words of a command. No
// meant means all runs.
func CompleteRun(a *app.App, words int, meant ...func(*record.Run) bool) Completer {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		const newest = 30 // maximum number of completions
		store, err := record.In(a.Getenv)
		if err != nil || len(args) >= words {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		runs, _ := store.List() // unreadable runs are not offered
		names := Completions("", word, []string{"last"})
		for _, of := range meant {
			runs = slices.DeleteFunc(runs, func(r *record.Run) bool { return !of(r) })
		}
		for _, r := range runs[:min(newest, len(runs))] {
			if strings.HasPrefix(r.Run, strings.ToUpper(word)) {
				about := r.Started.Local().Format("2006-01-02 15:04") + " " + app.WhatOf(r.Header) + ", " + string(r.Outcome())
				names = append(names, cobra.CompletionWithDesc(r.Run, about))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// IsManifestName reports whether a file may be a manifest, or an archive with one.
func IsManifestName(name string) bool {
	return source.IsArchive(name) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// CompleteType completes the name of one resource type.
func CompleteType(types modules.Registry) Completer {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Completions("", word, types.Names()), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteTag completes the last of several tags with the tags of the manifests on the command line.
func CompleteTag(types modules.Registry) Completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		var tags []string
		for _, p := range completionPlays(cmd.Context(), types, args) {
			tags = append(tags, p.Tags...)
			manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) { tags = append(tags, r.Tags...) })
		}
		slices.Sort(tags)
		begin := strings.LastIndexByte(word, ',') + 1
		return Completions(word[:begin], word[begin:], slices.Compact(tags)), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteResource completes type#name, with the resources of the manifests on the
// command line.
func CompleteResource(types modules.Registry) Completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		var refs []string
		for _, p := range completionPlays(cmd.Context(), types, args) {
			manifest.Walk(p.Resources, func(r *manifest.Resource, _ int) { refs = append(refs, r.Ref()) })
		}
		return Completions("", word, refs), cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPlays reads manifests after the Tab key: as far as they can be read, without downloads and messages.
func completionPlays(ctx context.Context, types modules.Registry, words []string) []*manifest.Play {
	ctx, cancel := context.WithTimeout(ctx, CompletionTime)
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

// Completions returns the names that begin with a word, each after the text before it, but no more than a shell can show.
func Completions(before, begun string, names []string) []string {
	var list []string
	for _, name := range names {
		if strings.HasPrefix(name, begun) && len(list) < maxCompletions {
			list = append(list, before+name)
		}
	}
	return list
}
