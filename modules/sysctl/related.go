//go:build !host

package sysctl

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (s *Sysctl) Related() []modules.Relation {
	all := []modules.Relation{{Verb: modules.Turns, Thing: modules.Thing{Kind: "sysctl", Key: s.key()}}}
	if s.persists() {
		all = append(all, s.edited().Related(s.Ensure == absent)...)
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Sysctl) Examples() fs.FS { return examples }
