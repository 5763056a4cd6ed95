package group

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// state describes a group by the names of its properties.
type state struct {
	Name    string   `json:"name"`
	GID     *int     `json:"gid,omitempty"`
	Members []string `json:"members,omitempty"`
}

// Describe implements [modules.Describer]. For a group of a name service it only reports that it exists.
func (g *Group) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	tables, err := accounts.Read(h)
	if err != nil {
		return modules.Description{}, err
	}
	have, local := tables.Group(g.Name)
	if !local {
		d := modules.Description{Ensure: absent, State: state{Name: g.Name}}
		elsewhere, err := tables.GroupElsewhere(ctx, g.Name)
		if elsewhere {
			d.Ensure = "present"
		}
		return d, err
	}
	return modules.Description{Ensure: "present", State: state{Name: g.Name, GID: &have.GID, Members: have.Members}}, nil
}
