package user

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// state describes a user by the names of its properties. It contains nothing about the password.
type state struct {
	Name    string   `json:"name"`
	UID     *int     `json:"uid,omitempty"`
	Group   string   `json:"group,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Comment string   `json:"comment,omitempty"`
	Home    string   `json:"home,omitempty"`
	Shell   string   `json:"shell,omitempty"`
}

// Describe implements [modules.Describer].
func (u *User) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	tables, err := accounts.Read(h)
	if err != nil {
		return modules.Description{}, err
	}
	have, there := tables.User(u.Name)
	if !there {
		if there, err = tables.UserElsewhere(ctx, u.Name); there {
			have, err = tables.Directory(ctx, u.Name)
		}
	}
	switch {
	case err != nil:
		return modules.Description{}, err
	case !there:
		return modules.Description{Ensure: absent, State: state{Name: u.Name}}, nil
	}
	return modules.Description{Ensure: present, State: state{
		Name: u.Name, UID: &have.UID, Group: tables.Primary(ctx, have), Groups: tables.GroupsOf(u.Name),
		Comment: have.Comment, Home: have.Home, Shell: have.Shell,
	}}, nil
}
