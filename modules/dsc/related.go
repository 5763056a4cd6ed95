//go:build !host

package dsc

import (
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Related implements [modules.Related], for types whose last word shows that other types manage the same objects: Apt
// is a package, like Ccm's own types.
func (d *DSC) Related() []modules.Relation {
	last := d.TypeName[strings.LastIndexAny(d.TypeName, "/.")+1:]
	gone := d.Properties["_exist"] == false || d.text("ensure") == "absent"
	name := cmp.Or(d.text("name"), d.Name)
	switch strings.ToLower(last) {
	case "apt", "dnf", "yum", "package":
		return process.Related("package", cmp.Or(d.text("packageName"), name), gone)
	case "service", "systemd":
		return process.Related("service", name, gone)
	case "user":
		return process.Related("user", cmp.Or(d.text("userName"), name), gone)
	case "group":
		return process.Related("group", cmp.Or(d.text("groupName"), name), gone)
	case "file", "directory":
		return process.Related("file", cmp.Or(d.text("path"), d.text("destinationPath"), name), gone)
	}
	return nil
}

// text returns the text of a property; "" if it is of another type, or an expression.
func (d *DSC) text(property string) string {
	s, _ := d.Properties[property].(string)
	if d.Evaluate != nil && strings.HasPrefix(s, "[") {
		return ""
	}
	return s
}
