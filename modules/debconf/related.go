//go:build !host

package debconf

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: its package comes after it, and debconf's files are rewritten as a whole.
func (d *Debconf) Related() []modules.Relation {
	return []modules.Relation{
		{Verb: modules.Edits, Thing: modules.Thing{Kind: modules.ThingAnswers, Key: d.Package}},
		modules.Rewrites("debconf"),
	}
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Debconf) Examples() fs.FS { return examples }
