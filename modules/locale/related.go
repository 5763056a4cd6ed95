//go:build !host

package locale

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]. Which of the files the host has is not known here.
func (l *Locale) Related() []modules.Relation {
	all := []modules.Relation{
		{Verb: modules.Edits, Thing: modules.PathOf(listFile), Why: "file that it edits"},
		{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: "locales"}, Weak: true, Why: "package of locale-gen"},
	}
	if l.Default {
		for _, path := range []string{commonFile, defaultFile} {
			all = append(all, modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(path), Why: "file that it edits"})
		}
	}
	return append(all, modules.Rewrites("locales"))
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Locale) Examples() fs.FS { return examples }
