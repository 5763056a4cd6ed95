//go:build !host

package fcontext

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Related implements [modules.Related].
func (f *Fcontext) Related() []modules.Relation {
	all := semanage.Relations()
	for _, at := range f.Restorecon {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(at), Reach: modules.Within, Why: "files that get labels"})
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Fcontext) Examples() fs.FS { return examples }
