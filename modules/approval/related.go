//go:build !host

package approval

import (
	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Needs says what comes before a file that command has to approve: its program.
func Needs(command string) []modules.Relation {
	words, err := shellquote.Split(command)
	if err != nil || len(words) == 0 {
		return nil
	}
	return modules.NeedsCommand(words[0], "/", "validate")
}
