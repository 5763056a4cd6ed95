//go:build !host

package sudoers

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: sudo comes first, and the accounts that rules begin with.
func (s *Sudoers) Related() []modules.Relation {
	all := s.file().Related()
	if s.Ensure == absent {
		return all
	}
	all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: "sudo"}, Weak: true, Why: "package of visudo"})
	for _, rule := range s.Rules {
		if who := whom(rule); who.Key != "" {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: who, Weak: true, Why: "who may"})
		}
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Sudoers) Examples() fs.FS { return examples }
