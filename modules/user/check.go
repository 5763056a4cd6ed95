package user

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// A step is a part of Apply.
type step func(ctx context.Context, h modules.Host) error

// A draft is a plan in the making.
type draft struct {
	*User
	modules.Plan
	h        modules.Host
	tables   *accounts.Tables
	defaults accounts.Defaults
	tools    accounts.Tools
	steps    []step
	after    accounts.PredictedUser
	isNew    bool // this plan creates the user
	newHome  bool // this plan creates the home
	account  bool // something other than files changes
}

// Check implements [modules.Resource].
func (u *User) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	d, err := u.draft(h)
	if err != nil {
		return modules.Plan{}, modules.PermissionRefusal(err)
	}
	have, local := d.tables.User(u.Name)
	elsewhere, err := d.tables.UserElsewhere(ctx, u.Name)
	switch {
	case err != nil:
	case elsewhere:
		err = d.directory(ctx)
	case u.Ensure == absent && local:
		err = d.remove(ctx, have)
	case u.Ensure == absent:
	case local:
		err = d.update(ctx, have)
	default:
		err = d.create(ctx)
	}
	if err == nil && d.account {
		err = accounts.CheckPermitted(h.Files)
	}
	if err != nil || d.Action == "" {
		return modules.Plan{}, err
	}
	d.Steps = d.steps
	return d.Plan, nil
}

func (u *User) draft(h modules.Host) (*draft, error) {
	tables, err := accounts.Read(h)
	if err != nil {
		return nil, err
	}
	defaults, err := accounts.ReadDefaults(h.Files)
	return &draft{User: u, h: h, tables: tables, defaults: defaults}, err
}

// findTools finds the tools that change accounts here. Keys need no tools.
func (d *draft) findTools() (err error) {
	d.tools, err = accounts.FindTools(d.h.Files)
	return err
}

// directory plans the changes of a user of a name service: only the keys can be changed here.
func (d *draft) directory(ctx context.Context) error {
	fixed := modules.Refuse("user %q is not in %s but in a name service of the host; change the user in the name service", d.Name, accounts.PasswdFile)
	if d.Ensure == absent {
		return fixed
	}
	have, err := d.tables.Directory(ctx, d.Name)
	if err != nil {
		return err
	}
	if d.PasswordHash != "" || d.PasswordLock != nil || d.Expires != "" {
		return fixed
	}
	if err := d.update(ctx, have); err != nil {
		return err
	}
	if d.account {
		return fixed
	}
	return nil
}

// differs notes a property that differs.
func (d *draft) differs(property, have, want string) {
	d.Changes = append(d.Changes, modules.Change{Property: property, Have: have, Want: want})
}

// run adds a program to Apply.
func (d *draft) run(argv ...string) {
	d.account = true
	d.steps = append(d.steps, func(ctx context.Context, h modules.Host) error {
		return accounts.Run(ctx, h, modules.Command{Argv: argv})
	})
}

// setHash adds a change of the user's field in shadow(5). It uses standard input, since every user of the host can read
// arguments.
func (d *draft) setHash(field string) {
	d.account = true
	c := modules.Command{Argv: []string{"chpasswd", "-e"}, Stdin: d.Name + ":" + field + "\n"}
	d.steps = append(d.steps, func(ctx context.Context, h modules.Host) error {
		return accounts.Run(ctx, h, c, field)
	})
}

// Apply implements [modules.Resource].
func (u *User) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	steps, ok := p.Steps.([]step)
	if !ok {
		return errors.New("the plan is not one of a user")
	}
	for _, do := range steps {
		if err := do(ctx, h); err != nil {
			return err
		}
	}
	return nil
}
