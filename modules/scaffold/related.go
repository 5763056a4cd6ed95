//go:build !host

package scaffold

import (
	"path"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (s *Scaffold) Related() []modules.Relation {
	verb := modules.Makes
	all := []modules.Relation{modules.NeedsParent(s.Name)}
	if s.Ensure == absent {
		verb, all = modules.Removes, []modules.Relation{modules.LeavesParent(s.Name)}
	}
	all = append(all, modules.Relation{Verb: verb, Thing: modules.PathOf(s.Name)})
	if s.Tree != nil {
		for i := range s.Tree.Nodes {
			all = append(all, modules.Relation{Verb: verb, Thing: modules.PathOf(path.Join(s.Name, s.Tree.Nodes[i].Path))})
		}
	}
	if s.Ensure == absent {
		return all
	}
	all = append(all, modules.NeedsOwner(s.Owner, s.Group)...)
	for _, entry := range s.Post {
		for _, command := range entry {
			all = append(all, modules.NeedsCommand(program(command), "", "post command")...)
		}
	}
	return append(all, modules.NeedsPackageOf(s.Name)...)
}

// program is the first word of a post command.
func program(command string) string {
	words, err := shellquote.Split(command)
	if err != nil || len(words) == 0 {
		return ""
	}
	return words[0]
}
