package main

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// topicTexts has a file for each help topic. Its first line is the short text.
//
//go:embed topics/*.txt
var topicTexts embed.FS

// topicCommands returns the help topics as commands that do nothing.
func topicCommands() []*cobra.Command {
	var list []*cobra.Command
	files, _ := topicTexts.ReadDir("topics") // the folder is embedded
	for _, file := range files {
		text, _ := topicTexts.ReadFile(path.Join("topics", file.Name()))
		short, long, _ := strings.Cut(string(text), "\n")
		list = append(list, &cobra.Command{
			Use: strings.TrimSuffix(file.Name(), ".txt"), Short: short, Long: strings.Trim(long, "\n"),
			DisableFlagsInUseLine: true,
		})
	}
	return list
}

// topics returns the names of the help topics of a program.
func topics(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Runnable() && !c.HasSubCommands() {
			names = append(names, c.Name())
		}
	}
	return names
}

// usageTemplate returns cobra's template for commands, without the shared flags, in lines of a number of columns; 0 breaks no line.
func usageTemplate(root *cobra.Command, columns int) string {
	return strings.NewReplacer(
		"Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", columns),
		"Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}", "Flags of all commands: "+root.Name()+" help flags",
		"Additional help topics:", "Topics ("+root.Name()+" help TOPIC):",
		"{{rpad .CommandPath .CommandPathPadding}}", "{{rpad .Name .NamePadding}}",
	).Replace(new(cobra.Command).UsageTemplate())
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "print help for a command or a topic",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range about.Commands() {
				if strings.HasPrefix(c.Name(), word) && (c.IsAvailableCommand() || slices.Contains(topics(about), c.Name())) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				about.InitDefaultHelpFlag()
				return about.Help()
			}
			hint := "see ccm-push --help"
			if err != nil {
				about, rest = cmd.Root(), args
			}
			names := append(commandNames(about), topics(about)...)
			if near := yamlpos.Suggest(rest[0], names); near != "" && near != rest[0] {
				hint = fmt.Sprintf("did you mean %s %s?", about.CommandPath(), near)
				if slices.Contains(topics(about), near) {
					hint = fmt.Sprintf("did you mean %s help %s?", about.CommandPath(), near)
				}
			}
			return fmt.Errorf("unknown command or topic %q; %s", strings.Join(args, " "), hint)
		},
	}
}
