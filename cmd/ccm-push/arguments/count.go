package arguments

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/trust"
)

// AtLeast refuses fewer words than a command needs, and names the missing ones.
func AtLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return fmt.Errorf("missing argument: %s %s", cmd.Parent().CommandPath(), cmd.Use)
		}
		return nil
	}
}

// OnePattern is for commands that take hosts and nothing else: several are one pattern.
func OnePattern(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one PATTERN, not %d; join them: %q", cmd.Name(), len(args), strings.Join(args, ","))
	}
	return AtLeast(1)(cmd, args)
}

// Suggestion returns what to write instead of a wrong word: the nearest of the known words after a prefix, or all of them.
func Suggestion(word, prefix string, known []string) string {
	if near := yamlpos.Suggest(word, known); near != "" {
		if prefix == "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
		return fmt.Sprintf("did you mean %s%s?", prefix, near)
	}
	last := len(known) - 1
	return fmt.Sprintf("use %s or %s", strings.Join(known[:last], ", "), known[last])
}

// Pasted returns words after ccm-push as a command for a shell.
func Pasted(words []string) string {
	quoted := []string{"ccm-push"}
	for _, word := range words {
		quoted = append(quoted, trust.ShellWord(word))
	}
	return strings.Join(quoted, " ")
}
