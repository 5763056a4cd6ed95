package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// app is the program with what it talks to.
type app struct {
	in       io.Reader
	out, err io.Writer
	environ  map[string]string
	stop     <-chan struct{} // closed by the first Ctrl-C
	registry modules.Registry
	flags    flags
	words    words
	atEnd    []func() // what is left to tidy up

	warning sync.Mutex
	warned  map[string]bool // of what may concern many hosts
}

// newApp makes the program; environ has the form of [os.Environ].
func newApp(in io.Reader, out, err io.Writer, environ []string) *app {
	a := &app{in: in, out: out, err: err, environ: map[string]string{}, registry: builtin.Types()}
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		a.environ[key] = value
	}
	return a
}

func (a *app) getenv(key string) string { return a.environ[key] }

func (a *app) home() string { return a.getenv("HOME") }

// say tells the operator something that is no result.
func (a *app) say(text string) { fmt.Fprintln(a.err, "ccm-push:", text) }

func (a *app) warn(text string) { a.say("warning: " + text) }

func (a *app) print(text string) error {
	_, err := io.WriteString(a.out, text)
	return err
}

// execute runs one command line.
func (a *app) execute(ctx context.Context, argv []string) error {
	defer func() {
		for _, tidy := range a.atEnd {
			tidy()
		}
	}()
	root := a.root()
	isType := func(s string) bool { return slices.Contains(a.registry.Names(), s) }
	isCommand := func(s string) bool {
		// cobra adds help, completion and its hidden helpers by itself.
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == s }) ||
			slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, s)
	}
	a.words = splitArguments(argv, root.PersistentFlags(), isCommand, isType)
	root.SetArgs(a.words.forCobra())
	return root.ExecuteContext(ctx)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ccm-push [flags] MANIFEST...\n  ccm-push [flags] PATTERN TYPE ARGUMENT...",
		Short: "drive a fleet to a desired state over SSH",
		Long: `ccm-push drives a fleet to a desired state over plain SSH.

It reads an inventory and manifests, asks each host for its facts, renders every
template here, and hands each host a finished catalog. Nothing is installed on
the hosts but one file in the cache of the user it runs as.

Resource types: ` + strings.Join(a.registry.Names(), ", ") + ".",
		Example: `  ccm-push -i hosts.yaml site.yaml
  ccm-push -i hosts.yaml --check --diff site.yaml
  ccm-push 'web*' exec 'systemctl reload nginx'
  ccm-push -i hosts.yaml --list-hosts 'web*:!web9'
  ccm-push facts web1 host.info.platform
  ccm-push inventory explain web1 http_port
  ccm-push validate site.yaml
  ccm-push render site.yaml web1 --explain
  ccm-push graph site.yaml web1 --format svg`,
		Version:           version,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeRoot,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(a.flags.validate(), a.flags.forRuns(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.main(cmd.Context(), cmd, args) },
	}
	root.SetVersionTemplate("ccm-push {{.Version}}\n")
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.in)
	a.flags.register(root.PersistentFlags())
	a.completeFlags(root)
	root.SetGlobalNormalizationFunc(flagAlias)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagHint(err) })
	root.AddCommand(a.checkHealthCommand(), a.cleanCommand(), a.footprintCommand(), a.sudoersCommand(), a.docCommand(), a.explainConnectionCommand(), a.factsCommand(), a.graphCommand(), a.inventoryCommand(), a.renderCommand(), a.validateCommand(), a.schemaCommand(), a.statusCommand(), a.trustCommand(), a.versionCommand())
	return root
}

// atLeast refuses fewer words than a command needs, and says which.
func atLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return fmt.Errorf("%s lacks an argument: %s %s", cmd.Name(), cmd.Parent().CommandPath(), cmd.Use)
		}
		return nil
	}
}

// onePattern is for commands that take hosts and nothing else: several are one pattern.
func onePattern(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one PATTERN, and this is %d; join them: %q", cmd.Name(), len(args), strings.Join(args, ","))
	}
	return atLeast(1)(cmd, args)
}

// main decides what a call without a subcommand means.
func (a *app) main(ctx context.Context, cmd *cobra.Command, args []string) error {
	switch {
	case a.words.adHoc != "":
		return a.adHoc(ctx, args[0])
	case a.flags.listHosts && (a.words.forced || len(args) == 1 && !isFile(args[0]) && !source.IsURL(args[0])):
		return a.listPattern(ctx, args)
	case a.words.forced:
		return fmt.Errorf("-- makes the next word a host pattern, as in -- PATTERN TYPE ARGUMENT...; the types are %s",
			strings.Join(a.registry.Names(), ", "))
	case len(args) == 0 && len(a.words.flags) == 0:
		return cmd.Help()
	case len(args) == 0:
		return errors.New("say what to do: MANIFEST... or PATTERN TYPE ARGUMENT...; see ccm-push --help")
	}
	if err := errors.Join(a.adHocMistake(args), commandMistake(cmd, args)); err != nil {
		return err
	}
	return a.manifests(ctx, args)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
