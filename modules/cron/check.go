package cron

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// steps are the steps of Apply: to replace the text that Check has seen.
type steps struct {
	crontab    crontab
	have, want string
}

// Check implements [modules.Resource].
func (c *Cron) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	t, err := c.crontab(ctx, modules.ByName(h.Accounts))
	if c.Ensure == absent && errors.Is(err, modules.ErrNoAccount) {
		return modules.Plan{}, nil // cron runs no entries of a user that does not exist
	}
	if err != nil {
		return modules.Plan{}, err
	}
	have, err := c.text(ctx, h, t)
	if err != nil {
		return modules.Plan{}, err
	}
	plan, want := modules.Plan{}, c.wanted()
	e := edited(have, c.Name, want)
	if want == nil {
		plan.Action, plan.Changes = removal(e)
	} else {
		plan.Action, plan.Changes = update(e, *want)
	}
	if plan.Action == "" && want == nil && c.Made != "" && strings.Contains(have, c.Made) {
		return modules.Plan{}, modules.Refuse("%s stays unchanged: a line has the command of this entry, but the comment %q is not above the line; remove the line by hand, or add the comment", t, markerPrefix+c.Name)
	}
	if plan.Action == "" {
		return modules.Plan{}, nil
	}
	if len(e.text) > modules.MaxOutput {
		return modules.Plan{}, modules.Refuse("%s would be larger than %d KiB", t, modules.MaxOutput>>10)
	}
	plan.Effects = append([]modules.Effect{{Kind: crontabEffect, Key: t.key(), State: e.text}},
		modules.Differ(crontabEffect, t.spool(ctx, h)...)...)
	plan.Steps = steps{t, have, e.text}
	return plan, nil
}

// wanted is the desired entry; nil means none.
func (c *Cron) wanted() *job {
	if c.Ensure == absent {
		return nil
	}
	j := c.job()
	return &j
}

// text is the text of the crontab, empty if its user does not exist yet.
func (c *Cron) text(ctx context.Context, h modules.Host, t crontab) (string, error) {
	text, err := t.read(ctx, h)
	if err != nil && userComes(h.Forecast, c.User) {
		return "", nil
	}
	return text, err
}

// userComes reports whether crontab may not know a user because an earlier resource of a check run would create it.
func userComes(f modules.Forecast, user string) bool {
	state, _ := f.Lookup(modules.UserEffect, user)
	account, _ := state.(modules.AccountState)
	return account.Exists
}

func removal(e outcome) (action string, changes []modules.Change) {
	if e.found == 0 {
		return "", nil
	}
	return "removed the entry", []modules.Change{{Property: "ensure", Have: present, Want: absent}}
}

func update(e outcome, want job) (action string, changes []modules.Change) {
	if e.was == nil {
		return "added the entry", []modules.Change{{Property: "ensure", Have: absent, Want: present}}
	}
	compare := func(property, have, want string) {
		if have != want {
			changes = append(changes, modules.Change{Property: property, Have: have, Want: want})
		}
	}
	compare("schedule", e.was.schedule, want.schedule)
	compare("command", e.was.command, want.command)
	compare("disabled", strconv.FormatBool(e.was.disabled), strconv.FormatBool(want.disabled))
	compare("entries", strconv.Itoa(e.found), "1")
	changes = append(changes, e.other...)
	if len(changes) == 0 {
		return "", nil
	}
	return "updated the entry", changes
}

// Apply implements [modules.Resource].
func (c *Cron) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	s, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a cron entry")
	}
	now, err := s.crontab.read(ctx, h)
	if err != nil {
		return err
	}
	if now != s.have { // overwriting it would lose another program's change
		return modules.Refuse("%s was changed by another program during this run; run again", s.crontab)
	}
	return s.crontab.write(ctx, h, s.want)
}
