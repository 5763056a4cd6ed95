package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// adHoc runs one resource from the command line on the hosts of a pattern.
func (a *app) adHoc(ctx context.Context, pattern string) error {
	t, _ := a.registry.Lookup(a.words.adHoc) // that is how it was found
	if err := a.flags.wholly("an ad-hoc call"); err != nil {
		return err
	}
	if _, nested := t.New().(modules.Nester); nested {
		return fmt.Errorf("%s applies a manifest within another one, so it is for manifests only; to apply one to these hosts: ccm-push --limit %q MANIFEST", t.Name, pattern)
	}
	query := t.Query(a.words.rest)
	play, playErr := a.adHocPlay(pattern, t, query)
	r, err := a.runner(ctx)
	if err := errors.Join(playErr, err); err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Plays = []*manifest.Play{play}
	// The output of a command is the point, and it does not wait for other runs.
	_, command := t.New().(modules.Commander)
	r.Options.NoLock = command || query != ""
	if query != "" {
		return a.report(ctx, r, a.answers()...)
	}
	return a.run(ctx, r, events.TextOptions{AdHoc: command})
}

// adHocPlay is the play of the command line.
func (a *app) adHocPlay(pattern string, t modules.Type, query string) (*manifest.Play, error) {
	if query != "" {
		return a.programs(a.queryPlay(pattern, t, a.words.rest))
	}
	properties, err := t.Arguments(a.words.rest)
	if err != nil {
		return nil, err
	}
	return a.programs(load.AdHoc(pattern, t, properties))
}

// programs has a play bring along the folder of --resources.
func (a *app) programs(play *manifest.Play, err error) (*manifest.Play, error) {
	if err != nil || a.flags.resources == "" {
		return play, err
	}
	if info, err := os.Stat(a.flags.resources); err != nil {
		return nil, fmt.Errorf("--resources: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("--resources %s: it is no folder", a.flags.resources)
	}
	play.Programs = a.flags.resources
	return play, nil
}

// commandMistake recognises a first word that may be meant as a subcommand, before
// what is a manifest or near the name of one.
func commandMistake(root *cobra.Command, args []string) error {
	word := args[0]
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, "./") {
		return nil
	}
	var commands []string
	for _, c := range root.Commands() {
		commands = append(commands, c.Name())
	}
	meant := yamlpos.Suggest(word, commands)
	switch {
	case meant != "":
		return fmt.Errorf("there is no command and no manifest %q; did you mean %s?", word, meant)
	case len(args) > 1 && isFile(args[1]):
		return fmt.Errorf("there is no command and no manifest %q; a manifest is applied without a command: ccm-push %s", word, strings.Join(args[1:], " "))
	}
	return nil
}

// adHocMistake recognises a pattern and a word that is no resource type, which
// would be told to be missing manifests.
func (a *app) adHocMistake(args []string) error {
	if len(args) < 2 || isFile(args[0]) || isFile(args[1]) {
		return nil
	}
	module, isModule := ansible.Find(args[1])
	if !isModule && strings.ContainsAny(args[1], "./") {
		return nil
	}
	hint := ""
	if isModule {
		hint = "; " + module.AdHocHint()
	} else if s := yamlpos.Suggest(args[1], a.registry.Names()); s != "" {
		hint = "; did you mean " + s + "?"
	}
	return fmt.Errorf("%q is no resource type (there are %s) and %q no manifest%s",
		args[1], strings.Join(a.registry.Names(), ", "), args[0], hint)
}
