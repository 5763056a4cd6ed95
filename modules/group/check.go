package group

import (
	"context"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Check implements [modules.Resource].
func (g *Group) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	tables, err := accounts.Read(h)
	if err != nil {
		return modules.Plan{}, modules.PermissionRefusal(err)
	}
	have, local := tables.Group(g.Name)
	if !local {
		elsewhere, err := tables.GroupElsewhere(ctx, g.Name)
		if err != nil || elsewhere {
			return modules.Plan{}, g.compareElsewhere(ctx, h, err)
		}
	}
	switch {
	case g.Ensure == absent && local:
		return g.remove(h, tables, have)
	case g.Ensure == absent:
		return modules.Plan{}, nil
	case !local:
		return g.create(ctx, h, tables)
	case g.GID == nil || have.GID == *g.GID:
		return modules.Plan{}, nil
	}
	return g.renumber(ctx, h, tables, have)
}

// compareElsewhere compares a group of a directory service, which cannot be changed here.
func (g *Group) compareElsewhere(ctx context.Context, h modules.Host, err error) error {
	if err != nil {
		return err
	}
	gid, err := h.Accounts.GroupID(ctx, g.Name)
	switch {
	case err != nil:
		return err
	case g.Ensure == absent:
		return modules.Refuse("group %q is not in %s but in a name service of the host; remove the group in the name service", g.Name, accounts.GroupFile)
	case g.GID != nil && *g.GID != gid:
		return modules.Refuse("gid: group %q is not in %s but in a name service of the host, with id %d; change the id in the name service", g.Name, accounts.GroupFile, gid)
	}
	return nil
}

func (g *Group) create(ctx context.Context, h modules.Host, tables *accounts.Tables) (modules.Plan, error) {
	plan := modules.Plan{
		Action:  "created the group",
		Changes: []modules.Change{{Property: "ensure", Have: absent, Want: "present"}},
	}
	after := accounts.Group{Name: g.Name, GID: accounts.Unknown}
	if g.GID != nil {
		after.GID = *g.GID
		plan.Changes = append(plan.Changes, modules.Change{Property: "gid", Have: absent, Want: strconv.Itoa(after.GID)})
		if err := g.free(ctx, tables); err != nil {
			return modules.Plan{}, err
		}
	}
	plan.Effects = accounts.GroupEffects(after, true)
	return g.allowed(h, plan, func(tools accounts.Tools) ([]string, error) {
		return accounts.AddGroup(tools, after, g.System), nil
	})
}

func (g *Group) renumber(ctx context.Context, h modules.Host, tables *accounts.Tables, have accounts.Group) (modules.Plan, error) {
	if err := g.free(ctx, tables); err != nil {
		return modules.Plan{}, err
	}
	after := have
	after.GID = *g.GID
	plan := modules.Plan{
		Action:  "updated the group",
		Changes: []modules.Change{{Property: "gid", Have: id(have.GID), Want: strconv.Itoa(after.GID)}},
		// Users with this primary group get the new id as well.
		Effects: append(accounts.GroupEffects(after, true), modules.Anything),
	}
	return g.allowed(h, plan, func(tools accounts.Tools) ([]string, error) {
		if tools != accounts.ShadowUtils {
			return nil, modules.Refuse("gid: the program groupmod, which changes the id of group %q, is missing on this host; install the package shadow", g.Name)
		}
		return []string{"groupmod", "-g", strconv.Itoa(after.GID), "--", g.Name}, nil
	})
}

// id writes an id for people.
func id(n int) string {
	if n == accounts.Unknown {
		return "unknown"
	}
	return strconv.Itoa(n)
}

func (g *Group) free(ctx context.Context, tables *accounts.Tables) error {
	if other, taken := tables.GIDHolder(ctx, *g.GID); taken {
		return modules.Refuse("gid: %d is the id of group %q already", *g.GID, other)
	}
	return nil
}

func (g *Group) remove(h modules.Host, tables *accounts.Tables, have accounts.Group) (modules.Plan, error) {
	if users := tables.PrimaryOf(have); len(users) > 0 {
		return modules.Plan{}, modules.Refuse("group %q is the primary group of %s; give them another one first", g.Name, strings.Join(users, ", "))
	}
	plan := modules.Plan{
		Action:  "removed the group",
		Changes: []modules.Change{{Property: "ensure", Have: "present", Want: absent}},
		Effects: accounts.GroupEffects(have, false),
	}
	return g.allowed(h, plan, func(tools accounts.Tools) ([]string, error) {
		if tools == accounts.Busybox {
			return []string{"delgroup", g.Name}, nil
		}
		return []string{"groupdel", "--", g.Name}, nil
	})
}

// allowed adds this host's command to a plan, if the user may run it.
func (g *Group) allowed(h modules.Host, plan modules.Plan, command func(accounts.Tools) ([]string, error)) (modules.Plan, error) {
	tools, err := accounts.FindTools(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	argv, err := command(tools)
	if err != nil {
		return modules.Plan{}, err
	}
	if err := accounts.CheckPermitted(h.Files); err != nil {
		return modules.Plan{}, err
	}
	plan.Steps = argv
	return plan, nil
}

// Apply implements [modules.Resource].
func (g *Group) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return accounts.Run(ctx, h, modules.Command{Argv: p.Steps.([]string)})
}
