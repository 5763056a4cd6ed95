//go:build !host

package hostname

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (n *Hostname) Related() []modules.Relation {
	all := append(n.files().Related(false), modules.Relation{Verb: modules.Turns, Thing: modules.Thing{Kind: "hostname"}})
	return append(all, modules.NeedsCommand("hostname", "", "program that names the host")...)
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Hostname) Examples() fs.FS { return examples }
