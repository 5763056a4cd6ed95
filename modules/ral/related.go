//go:build !host

package ral

import (
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related], for the types of libral whose resources other
// types look after as well.
func (r *Ral) Related() []modules.Relation {
	of, _, _ := strings.Cut(r.Provider, "::")
	if r.Play != nil && len(r.Play.Found) == 1 {
		of = r.Play.Found[0].Type
	}
	s, _ := r.Properties[ensure].(string)
	verb := modules.Makes
	if gone(s) {
		verb = modules.Removes
	}
	switch cmp.Or(r.TypeName, of) {
	case "service":
		return modules.ServiceRelations(r.Name)
	case "package":
		return modules.PackageRelations(r.Name, gone(s))
	case "user":
		return []modules.Relation{{Verb: verb, Thing: modules.Thing{Kind: modules.ThingUser, Key: r.Name}}}
	case "group":
		return []modules.Relation{{Verb: verb, Thing: modules.Thing{Kind: modules.ThingGroup, Key: r.Name}}}
	case "file":
		if strings.HasPrefix(r.Name, "/") {
			return []modules.Relation{{Verb: verb, Thing: modules.PathOf(r.Name)}, modules.NeedsParent(r.Name)}
		}
	}
	return nil
}
