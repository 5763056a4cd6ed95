//go:build !host

package kmod

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (k *Kmod) Related() []modules.Relation {
	all := append(k.files().Related(k.Ensure == absent), modules.Relation{Verb: modules.Turns, Thing: modules.Thing{Kind: "kmod", Key: kernelName(k.Name)}})
	return append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: "kmod"}, Weak: true, Why: "package of modprobe"})
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Kmod) Examples() fs.FS { return examples }
