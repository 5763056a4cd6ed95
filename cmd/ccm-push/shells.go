package main

import (
	"embed"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// completionScripts complete words in shells through cobra's hidden command __complete. They replace the scripts of
// cobra, for two reasons. Those scripts evaluate typed text ("$(…)", and in fish the text after a semicolon inside
// quotes). The script for bash needs bash-completion.
//
//go:embed shells
var completionScripts embed.FS

var completionShells = []string{"bash", "zsh", "fish"}

func completionCommand(p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print the completion script of a shell",
		Long: `ccm-push completion prints a script for a shell. With the script, the tab key completes commands,
flags, hosts, groups, tags, resources, properties and recorded runs. Completion contacts no host and
runs no inventory script.

For bash, add this line to ~/.bashrc (the package bash-completion is not needed):

  source <(ccm-push completion bash)

For zsh, add this line to ~/.zshrc after compinit:

  source <(ccm-push completion zsh)

For zsh, you can also save the script as the file _ccm-push in a folder of fpath.

For fish, save the script in a file:

  ccm-push completion fish > ~/.config/fish/completions/ccm-push.fish`,
		Example:   `  source <(ccm-push completion bash)`,
		ValidArgs: completionShells,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := p.TextOnly("completion"); err != nil {
				return err
			}
			if len(args) != 1 {
				return errors.New("missing argument: ccm-push completion bash|zsh|fish")
			}
			script, err := completionScripts.ReadFile("shells/ccm-push." + args[0])
			if err != nil {
				return fmt.Errorf("unknown shell %q; %s", args[0], arguments.Suggestion(args[0], "", completionShells))
			}
			return p.Print(string(script))
		},
	}
}
