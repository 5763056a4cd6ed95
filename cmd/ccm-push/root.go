package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/access"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/hosts"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/inventories"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/manifests"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/remote"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/runs"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/secret"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// A commandLine is one call of the program: its words, the flags that several commands share, and the parts that commands
// use.
type commandLine struct {
	app     *app.App
	words   words
	flags   flags.All
	fleet   fleet.Fleet
	plays   fleet.Plays
	session runs.Sessions
	printer output.Printer
}

func newCommandLine(a *app.App) *commandLine {
	c := &commandLine{app: a}
	f := &c.fleet
	f.App, f.Flags = a, &c.flags
	f.Workers = links.Workers{App: a, Flags: &c.flags}
	f.NATS = links.NATS{App: a, Flags: &c.flags, Workers: &f.Workers}
	f.Connection = access.Connections{App: a, Flags: &c.flags}
	f.Secrets = access.Unsealer{App: a, Flags: &c.flags, Connection: &f.Connection}
	f.Inventory = inventories.Reader{App: a, Flags: &c.flags, Secrets: &f.Secrets}
	f.Variables = fleet.Variables{App: a, Flags: &c.flags, Secrets: &f.Secrets, NATS: &f.NATS}
	f.Authority = access.Authorities{App: a, Flags: &c.flags}
	f.Record = fleet.Recording{App: a, Flags: &c.flags, Inventory: &f.Inventory, Shared: &f.Workers.Shared}
	c.session = runs.Sessions{App: a, Flags: &c.flags}
	f.Detach = fleet.Detaching{App: a, Flags: &c.flags}
	c.printer = output.Printer{App: a, Flags: &c.flags}
	c.plays = fleet.Plays{Fleet: f, Archives: &source.Unpacker{}}
	return c
}

// execute takes the words apart and runs the command that they mean.
func (c *commandLine) execute(ctx context.Context, argv []string) error {
	root := c.root()
	isType := func(s string) bool { return slices.Contains(c.app.Registry.Names(), s) }
	isCommand := func(s string) bool {
		// cobra adds its hidden helpers by itself. A topic is not a command: hosts may have its name.
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == s && c.Runnable() }) ||
			slices.Contains([]string{"help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, s)
	}
	c.words = splitArguments(argv, root.PersistentFlags(), isCommand, isType)
	c.fleet.Detach.Words = argv
	root.SetArgs(c.words.forCobra())
	return root.ExecuteContext(ctx)
}

func (c *commandLine) root() *cobra.Command {
	a, p := c.app, &c.printer
	root := &cobra.Command{
		Use:   "ccm-push [flags] MANIFEST...\n  ccm-push [flags] PATTERN TYPE ARGUMENT...",
		Short: "apply manifests to hosts over SSH",
		Long: `ccm-push applies manifests to hosts over SSH. A manifest lists resources, such as files,
packages and services, in their desired state.

ccm-push reads an inventory and manifests, and queries each host for its facts (data about
the host). It renders all templates on this machine, and sends each host a list of its
resources. Hosts need no agent and no Python. On each host, ccm-push keeps one program, in
the cache folder of the login user.

Resource types: ` + strings.Join(a.Registry.Names(), ", ") + ".",
		Example: `  ccm-push -i hosts.yaml site.yaml
  ccm-push -i hosts.yaml --check --diff site.yaml
  ccm-push 'web*' exec 'systemctl reload nginx'
  ccm-push -i hosts.yaml --list-hosts 'web*:!web9'
  ccm-push facts web1 host.info.platform
  ccm-push inventory explain web1 http_port
  ccm-push validate site.yaml
  ccm-push render site.yaml web1 --explain
  ccm-push graph site.yaml web1
  ccm-push explain site.yaml web1 file#/etc/motd
  ccm-push runs show last
  ccm-push attach
  ccm-push resume
  ccm-push undo last --check`,
		Version:       version,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(c.flags.Validate(a.Getenv, a.CanAsk()), p.ForRuns(cmd), fleet.ReportsForRuns(&c.flags.Output.Reports, cmd), c.forCalls(cmd)); err != nil {
				return err
			}
			return c.fleet.Detach.Start(cmd, p)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.main(cmd.Context(), cmd, args) },
	}
	root.SetVersionTemplate("ccm-push {{.Version}}\n")
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetIn(a.In)
	c.flags.Register(root.PersistentFlags())
	completeRoot(root, a.Registry, &c.fleet.Inventory, &c.session)
	root.SetGlobalNormalizationFunc(flags.Alias)
	root.SetFlagErrorFunc(flags.Hint)
	root.SetUsageTemplate(usageTemplate(root, output.TerminalWidth(a.Out)))
	root.SetHelpCommand(helpCommand())
	root.AddCommand(topicCommands()...)
	root.AddCommand(listCommands(root)...)
	c.addCommands(root)
	groupCommands(root)
	suggestSubcommands(root)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			help(cmd, args)
			return
		}
		fmt.Fprint(cmd.OutOrStdout(), shortHelp(root))
	})
	return root
}

func (c *commandLine) addCommands(root *cobra.Command) {
	f, p := &c.fleet, &c.printer
	root.AddCommand(completionCommand(p), manCommand(c.app, p), versionCommand(&c.flags.Work, p), secret.Command(&f.Secrets, p))
	root.AddCommand(hosts.Commands(f, p)...)
	root.AddCommand(manifests.Commands(&c.plays, p)...)
	root.AddCommand(remote.Commands(f, p)...)
	root.AddCommand(runs.Commands(&c.plays, &c.session, p)...)
}

// main decides what a call without a subcommand means.
func (c *commandLine) main(ctx context.Context, cmd *cobra.Command, args []string) error {
	types := c.app.Registry.Names()
	switch {
	case c.words.adHoc != "":
		return c.adHoc(ctx, args[0])
	case c.flags.Inventory.ListHosts && (c.words.forced || len(args) == 1 && !isFile(args[0]) && !source.IsURL(args[0])):
		return c.fleet.Inventory.PrintHosts(ctx, &c.printer, args)
	case c.words.forced:
		return errors.New("after -- write a host pattern and a resource: -- PATTERN TYPE ARGUMENT...; ccm-push doc lists the resource types")
	case len(args) == 0 && len(c.words.flags) == 0:
		return cmd.Help()
	case len(args) == 0:
		return errors.New("no manifest given: use ccm-push MANIFEST... or ccm-push PATTERN TYPE ARGUMENT...; see ccm-push --help")
	}
	if err := errors.Join(adHocMistake(args, types), commandMistake(cmd, args)); err != nil {
		return err
	}
	return c.plays.Apply(ctx, &c.printer, args)
}

// commandMistake recognises a first word that may be meant as a subcommand, also before a manifest or a word that looks
// like one.
func commandMistake(root *cobra.Command, args []string) error {
	word := args[0]
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, "./") {
		return nil
	}
	var commands []string
	for _, c := range root.Commands() {
		if c.Runnable() {
			commands = append(commands, c.Name())
		}
	}
	meant := yamlpos.Suggest(word, commands)
	switch {
	case len(args) == 1 && slices.Contains(topics(root), word):
		return fmt.Errorf("%q is not a command or a manifest; did you mean ccm-push help %s?", word, word)
	case word == "stat" && root.Flag("diff").Changed:
		return errors.New(`"stat" is not a command or a manifest; did you mean --diff=stat?`)
	case meant != "":
		return fmt.Errorf("%q is not a command or a manifest; did you mean ccm-push %s?", word, meant)
	case len(args) > 1 && (isFile(args[1]) || arguments.IsManifestName(args[1])): // a manifest needs no command
		return fmt.Errorf("%q is not a command or a manifest; did you mean ccm-push %s?", word, strings.Join(args[1:], " "))
	case len(args) == 1:
		return fmt.Errorf("%q is not a command or a manifest; see ccm-push --help", word)
	}
	return nil
}

// adHocMistake recognises a pattern and a word that is not a resource type, and a resource type without a pattern.
// Without this check, the error would be missing manifests.
func adHocMistake(args, types []string) error {
	if len(args) < 2 || isFile(args[0]) || isFile(args[1]) {
		return nil
	}
	if slices.Contains(types, args[0]) {
		return fmt.Errorf("%s is a resource type: write a host pattern before it\n  hint: ccm-push all %[1]s …; --limit (-l) selects fewer hosts", args[0])
	}
	module, isModule := ansible.Find(args[1])
	if !isModule && strings.ContainsAny(args[1], "./") {
		return nil
	}
	hint := "\n  hint: ccm-push doc lists the resource types"
	if isModule {
		hint = "; " + module.AdHocHint()
	} else if s := yamlpos.Suggest(args[1], types); s != "" {
		hint = "; did you mean " + strconv.Quote(s) + "?"
	}
	return fmt.Errorf("%q is not a resource type, and %q is not a manifest%s", args[1], args[0], hint)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// forCalls checks the flags of a session.
func (c *commandLine) forCalls(cmd *cobra.Command) error {
	report := cmd.Name() == "report" && cmd.Parent().Name() == "session"
	return c.flags.ForCalls(c.app.Getenv, c.words.adHoc != "", report)
}

// call runs one command line.
func call(ctx context.Context, a *app.App, argv []string) error {
	c := newCommandLine(a)
	defer c.plays.Archives.Close()
	defer c.fleet.NATS.Close()
	defer c.fleet.Workers.Close(ctx)
	return c.execute(ctx, argv)
}
