package group

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// A Group is a local group. A missing property means no change. Its members are set by the resources of users.
type Group struct {
	Name   string `json:"name" required:"true" looks:"^[A-Za-z_][A-Za-z0-9_.-]{0,31}[$]?$" doc:"name of the group"`
	Ensure string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether it exists; the primary group of a user is not removed"`
	GID    *int   `json:"gid,omitempty" doc:"its id; default: unchanged; for a new group, chosen by the host"`
	System bool   `json:"system,omitempty" doc:"a new group gets its id from the range for system accounts"`
}

const absent = "absent"

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "group",
		Doc:  "Keeps a local group with an id, or removes it, with the tools of shadow-utils or BusyBox.",
		New:  func() modules.Resource { return new(Group) },
	}
}

// Validate implements [modules.Resource].
func (g *Group) Validate() error {
	errs := []error{accounts.CheckName("name", g.Name), accounts.CheckID("gid", g.GID)}
	if g.Name == "root" && g.Ensure == absent {
		errs = append(errs, modules.Errorf("ensure", "the group root cannot be absent"))
	}
	return errors.Join(errs...)
}
