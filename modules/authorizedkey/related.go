//go:build !host

package authorizedkey

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (k *AuthorizedKey) Related() []modules.Relation {
	verb := modules.Needs
	if k.Ensure == absent {
		verb = modules.Leaves
	}
	all := []modules.Relation{
		{Verb: verb, Thing: modules.Thing{Kind: modules.ThingUser, Key: k.User}, Why: "user"},
		modules.Rewrites("authorized_keys of " + k.User),
	}
	if k.Path != "" {
		all = append(all, modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(k.Path), Why: "file that it edits"}, modules.NeedsParent(k.Path))
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*AuthorizedKey) Examples() fs.FS { return examples }
