//go:build !host

package process

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related returns the relations of a service, package, user, group or file of another program, which resource types
// manage as well; none for any other kind.
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
