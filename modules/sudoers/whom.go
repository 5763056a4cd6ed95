//go:build !host

package sudoers

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// whom returns the account of a rule: a user, or a group after a percent sign. It returns the zero Thing for comments,
// aliases, defaults, quoted names and lists.
func whom(rule string) modules.Thing {
	word, _, _ := strings.Cut(strings.TrimSpace(rule), " ")
	kind := modules.ThingUser
	if group, ok := strings.CutPrefix(word, "%"); ok {
		word, kind = group, modules.ThingGroup
	}
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return modules.Thing{}
	}
	return modules.Thing{Kind: kind, Key: word}
}
