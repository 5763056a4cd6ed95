//go:build !host

package dsc

import (
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related], for types whose last word says that others
// look after the same: Apt is a package, as Ccm's own types are.
func (d *DSC) Related() []modules.Relation {
	last := d.TypeName[strings.LastIndexAny(d.TypeName, "/.")+1:]
	name := d.text("name")
	gone := d.Properties["_exist"] == false || d.text("ensure") == "absent"
	verb := modules.Makes
	if gone {
		verb = modules.Removes
	}
	switch strings.ToLower(last) {
	case "apt", "dnf", "yum", "package":
		return modules.PackageRelations(cmp.Or(d.text("packageName"), name, d.Name), gone)
	case "service", "systemd":
		return modules.ServiceRelations(cmp.Or(name, d.Name))
	case "user":
		return []modules.Relation{{Verb: verb, Thing: modules.Thing{Kind: modules.ThingUser, Key: cmp.Or(d.text("userName"), name, d.Name)}}}
	case "group":
		return []modules.Relation{{Verb: verb, Thing: modules.Thing{Kind: modules.ThingGroup, Key: cmp.Or(d.text("groupName"), name, d.Name)}}}
	case "file", "directory":
		path := cmp.Or(d.text("path"), d.text("destinationPath"), name, d.Name)
		if strings.HasPrefix(path, "/") {
			return []modules.Relation{{Verb: verb, Thing: modules.PathOf(path)}, modules.NeedsParent(path)}
		}
	}
	return nil
}

// text is a property that is text; "" if it is none, or an expression.
func (d *DSC) text(property string) string {
	s, _ := d.Properties[property].(string)
	if d.Evaluate != nil && strings.HasPrefix(s, "[") {
		return ""
	}
	return s
}
