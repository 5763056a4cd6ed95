package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/manual"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// commandGroups are the groups of commands, in the order of help. Other has the rest.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Run", []string{"attach", "check-health", "rollout", "session", "watch"}},
	{"Inspect", []string{"explain", "explain-connection", "facts", "graph", "inventory", "render", "runs", "status"}},
	{"Write", []string{"doc", "fmt", "from-ansible", "hiera", "new", "schema", "validate"}},
	{"Recover", []string{"clean", "footprint", "resume", "undo"}},
	{"Fleet", []string{"registration", "sudoers", "trust", "worker", "workers"}},
	{"Secrets", []string{"secret"}},
	{"Other", []string{"completion", "man", "version"}},
}

// frequentFlags are the flags of the short help.
var frequentFlags = []string{
	"inventory", "limit", "list-hosts", "tags", "skip-tags", "list-resources", "check", "diff", "step", "extra-vars", "facts",
	"user", "become", "ask-pass", "ask-become-pass", "private-key", "timeout", "forks", "rollout", "detach",
	"output", "verbose", "quiet", "report", "detailed-exitcode",
}

// groupCommands puts the commands of the program into groups.
func groupCommands(root *cobra.Command) {
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, c := range root.Commands() {
			if slices.Contains(group.commands, c.Name()) {
				c.GroupID = group.title
			}
		}
	}
}

// shortHelp returns the help of the program: two screens of a terminal.
func shortHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`ccm-push applies manifests to hosts over SSH. It installs no agent.

Usage:
  ccm-push [flags] MANIFEST...                 apply manifests
  ccm-push [flags] PATTERN TYPE ARGUMENT...    apply one resource to hosts

Examples:
  ccm-push -i hosts.yaml --check --diff site.yaml
  ccm-push -i hosts.yaml site.yaml
  ccm-push 'web*' exec 'systemctl reload nginx'

Commands:
`)
	for _, group := range commandGroups {
		fmt.Fprintf(&b, "  %-9s %s\n", group.title, strings.Join(group.commands, " "))
	}
	b.WriteString("\nFlags:\n")
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	for _, name := range frequentFlags {
		f := *root.PersistentFlags().Lookup(name)
		f.Usage = firstClause(f.Usage)
		set.AddFlag(&f)
	}
	b.WriteString(set.FlagUsages())
	fmt.Fprintf(&b, `
  ccm-push COMMAND --help   ccm-push help flags (all)   ccm-push help commands
  Topics: %s
`, strings.Join(slices.DeleteFunc(topics(root), func(name string) bool { return name == "flags" || name == "commands" }), " "))
	return b.String()
}

// firstClause returns the part of a flag's text before the first semicolon or parenthesis.
func firstClause(usage string) string {
	if i := strings.IndexAny(usage, ";("); i > 0 {
		return strings.TrimSpace(usage[:i])
	}
	return usage
}

// flagsHelp returns all shared flags in groups, in lines of a number of columns; 0 breaks no line.
func flagsHelp(root *cobra.Command, columns int) string {
	var b strings.Builder
	b.WriteString("All commands accept these flags. ccm-push COMMAND --help prints the flags of a command.\n")
	for _, group := range manual.FlagGroups(root.PersistentFlags()) {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, f := range group.Flags {
			set.AddFlag(f)
		}
		fmt.Fprintf(&b, "\n%s:\n%s", group.Title, set.FlagUsagesWrapped(columns))
	}
	return b.String()
}

// listCommands are the topics whose text comes from the program itself. They have no pages in the manual, since the page of
// the program has the same lists.
func listCommands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{
		{Use: "commands", Short: "all commands, in groups", Hidden: true, DisableFlagsInUseLine: true},
		{Use: "flags", Short: "all flags, in groups", Hidden: true, DisableFlagsInUseLine: true},
	}
	texts := map[string]func(columns int) string{
		"commands": func(int) string { return commandsHelp(root) },
		"flags":    func(columns int) string { return flagsHelp(root, columns) },
	}
	for _, c := range list {
		c.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			fmt.Fprint(cmd.OutOrStdout(), texts[cmd.Name()](output.TerminalWidth(cmd.OutOrStdout())))
		})
	}
	return list
}

// commandsHelp returns all commands in groups, a line each.
func commandsHelp(root *cobra.Command) string {
	var b strings.Builder
	for _, group := range commandGroups {
		fmt.Fprintf(&b, "%s:\n", group.title)
		for _, name := range group.commands {
			c, _, _ := root.Find([]string{name})
			fmt.Fprintf(&b, "  %-18s %s\n", name, c.Short)
			for _, sub := range c.Commands() {
				if sub.Runnable() && !sub.Hidden {
					fmt.Fprintf(&b, "    %-16s %s\n", sub.Name(), sub.Short)
				}
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("ccm-push COMMAND --help prints the flags and examples of a command.\n")
	return b.String()
}

// suggestSubcommands makes every command below c that has commands of its own suggest one of them for a wrong word.
func suggestSubcommands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		suggestSubcommands(sub)
	}
	if !c.HasParent() || !c.HasSubCommands() {
		return
	}
	if c.Args(c, []string{"word"}) != nil { // only its commands
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := arguments.Suggestion(args[0], cmd.CommandPath()+" ", commandNames(cmd))
			return fmt.Errorf("%s has no command %q; %s", cmd.CommandPath(), args[0], hint)
		}
		return
	}
	suggest := func(cmd *cobra.Command, args []string, err error) error {
		if err == nil || len(args) == 0 || isFile(args[0]) {
			return err
		}
		if near := yamlpos.Suggest(args[0], commandNames(cmd)); near != "" {
			return fmt.Errorf("%w\n  hint: did you mean %s %s?", err, cmd.CommandPath(), near)
		}
		return err
	}
	check, run := c.Args, c.RunE
	c.Args = func(cmd *cobra.Command, args []string) error { return suggest(cmd, args, check(cmd, args)) }
	c.RunE = func(cmd *cobra.Command, args []string) error { return suggest(cmd, args, run(cmd, args)) }
}

// commandNames returns the names of the commands below one, sorted.
func commandNames(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.Runnable() && !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	slices.Sort(names)
	return names
}
