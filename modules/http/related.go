//go:build !host

package http

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (r *HTTP) Related() (all []modules.Relation) {
	for _, one := range []struct{ path, why string }{{r.CA, "certificates of authorities"}, {r.Socket, "socket"}} {
		if one.path != "" {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(one.path), Reach: modules.Nearest, Why: one.why})
		}
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*HTTP) Examples() fs.FS { return examples }
