//go:build !host

package sudoers

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// whom is the account that a rule is for: a user, or a group behind a percent sign. Of comments,
// aliases, defaults, and what is quoted or a list it is none.
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
