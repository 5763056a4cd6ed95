//go:build !host

package firewall

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: all rules are in one file, and in one table.
func (f *Firewall) Related() []modules.Relation {
	all := []modules.Relation{modules.Rewrites("firewall"), {Verb: modules.Edits, Thing: modules.PathOf(keptFile)}}
	for _, name := range loadFiles {
		all = append(all, modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(name)})
	}
	for _, name := range []string{nftables, firewalld, ufw} {
		if f.Ensure != absent && (f.Provider == "" || f.Provider == name) {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package of the firewall"})
		}
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Firewall) Examples() fs.FS { return examples }
