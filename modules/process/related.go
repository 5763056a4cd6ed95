//go:build !host

package process

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related are the relations of what others call a service, package, user, group or file,
// which types of resources look after as well; none of any other kind.
func Related(kind, name string, gone bool) []modules.Relation {
	verb := modules.Makes
	if gone {
		verb = modules.Removes
	}
	switch kind {
	case "service":
		return modules.ServiceRelations(name)
	case "package":
		return modules.PackageRelations(name, gone)
	case "user":
		return []modules.Relation{{Verb: verb, Thing: modules.Thing{Kind: modules.ThingUser, Key: name}}}
	case "group":
		return []modules.Relation{{Verb: verb, Thing: modules.Thing{Kind: modules.ThingGroup, Key: name}}}
	case "file":
		if strings.HasPrefix(name, "/") {
			return []modules.Relation{{Verb: verb, Thing: modules.PathOf(name)}, modules.NeedsParent(name)}
		}
	}
	return nil
}
