//go:build !host

package tlscert

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: keys come first, and the certificate of the authority.
func (c *TLSCert) Related() []modules.Relation {
	all := c.output().Related()
	if c.Ensure == absent {
		return all
	}
	for _, needed := range []struct{ path, why string }{{c.Key, "private key"}, {c.CSR, "request"}, {c.CACert, "authority"}, {c.CAKey, "private key of the authority"}} {
		if needed.path != "" {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(needed.path), Reach: modules.Nearest, Why: needed.why})
		}
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*TLSCert) Examples() fs.FS { return examples }
