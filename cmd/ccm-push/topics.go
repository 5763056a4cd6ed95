package main

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// topicTexts are what help tells of besides commands: a file each, whose first line says what
// it is about.
//
//go:embed topics/*.txt
var topicTexts embed.FS

// topicCommands are the topics as cobra has them: commands that do nothing.
func topicCommands() []*cobra.Command {
	var list []*cobra.Command
	files, _ := topicTexts.ReadDir("topics") // there is no other error than that it is not there
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

// topics are the names of those of a program.
func topics(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// usageTemplate is cobra's, with topics called as they are asked for, with the flags of all commands
// told of once, and in lines of so many columns; 0 breaks none.
func usageTemplate(root *cobra.Command, columns int) string {
	return strings.NewReplacer(
		"Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", columns),
		"Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}", "Flags that all commands share: "+root.Name()+" --help",
		"Additional help topics:", "Topics ("+root.Name()+" help TOPIC):",
		"{{rpad .CommandPath .CommandPathPadding}}", "{{rpad .Name .NamePadding}}",
	).Replace(new(cobra.Command).UsageTemplate())
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "tell of a command, or of a topic",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range about.Commands() {
				if strings.HasPrefix(c.Name(), word) && (c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()) {
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
			var names []string
			for _, c := range cmd.Root().Commands() {
				names = append(names, c.Name())
			}
			hint := "see ccm-push --help"
			if near := yamlpos.Suggest(args[0], names); near != "" && near != args[0] {
				hint = "did you mean " + near + "?"
			}
			return fmt.Errorf("there is no command and no topic %q; %s", strings.Join(args, " "), hint)
		},
	}
}
