//go:build !host

package cron

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// programs are packages with a crontab program.
var programs = []string{"cron", "cronie", "dcron", "busybox-cron", "systemd-cron"}

// Related implements [modules.Related].
func (c *Cron) Related() []modules.Relation {
	all := []modules.Relation{modules.Rewrites("crontab of " + c.User)}
	for _, name := range programs {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package of crontab"})
	}
	if c.Ensure == absent {
		if c.User != "" {
			all = append(all, modules.Relation{Verb: modules.Leaves, Thing: modules.Thing{Kind: modules.ThingUser, Key: c.User}, Why: "user"})
		}
		return all
	}
	all = append(all, modules.NeedsOwner(c.User, "")...)
	return append(all, modules.NeedsCommand(c.program(), "", "command")...)
}

// program is the first word of the command that does not set a variable; empty if only a shell could find it.
func (c *Cron) program() string {
	for _, word := range strings.Fields(c.Command) {
		switch {
		case strings.ContainsAny(word, "$`\"'\\;&|()<>*?%"):
			return ""
		case !strings.Contains(word, "="):
			return word
		}
	}
	return ""
}
