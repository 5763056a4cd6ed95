//go:build !host

package ral

import (
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Related implements [modules.Related], for the types of libral whose resources other
// types look after as well.
func (r *Ral) Related() []modules.Relation {
	of, _, _ := strings.Cut(r.Provider, "::")
	if r.Play != nil && len(r.Play.Found) == 1 {
		of = r.Play.Found[0].Type
	}
	s, _ := r.Properties[ensure].(string)
	return process.Related(cmp.Or(r.TypeName, of), r.Name, gone(s))
}
