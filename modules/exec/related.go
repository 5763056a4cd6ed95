//go:build !host

package exec

import (
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (e *Exec) Related() []modules.Relation {
	var all []modules.Relation
	for _, one := range []struct{ text, why string }{{e.text(), "command"}, {e.OnlyIf, "guard"}, {e.Unless, "guard"}} {
		all = append(all, modules.NeedsCommand(e.program(one.text), e.Cwd, one.why)...)
	}
	if e.User != "" {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingUser, Key: e.User}, Why: "user"})
	}
	if e.Cwd != "" && e.Cwd != "/" {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(e.Cwd), Reach: modules.Nearest, Why: "working directory"})
	}
	if e.Creates != "" {
		all = append(all, modules.NeedsParent(e.Creates), modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(e.Creates)})
	}
	return all
}

// program is the first word of a command; empty if only a shell could find it.
func (e *Exec) program(command string) string {
	if e.Provider == shell {
		word, _, _ := strings.Cut(strings.TrimSpace(command), " ")
		if strings.ContainsAny(word, "$`\"'\\;&|()<>*?=") {
			return ""
		}
		return word
	}
	words, err := shellquote.Split(command)
	if err != nil || len(words) == 0 {
		return ""
	}
	return words[0]
}
