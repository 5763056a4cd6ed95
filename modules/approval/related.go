//go:build !host

package approval

import (
	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Needs returns the relation of a file to the program of command, which has to approve it.
func Needs(command string) []modules.Relation {
	words, err := shellquote.Split(command)
	if err != nil || len(words) == 0 {
		return nil
	}
	return modules.NeedsCommand(words[0], "/", "validate")
}
