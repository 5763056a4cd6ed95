package cron

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser].
func (c *Cron) Subject() string { return "crontab " + c.User + " " + c.Name }

// Reversal implements [modules.Reverser]. It returns an error unless its result restores the whole crontab as it is.
func (c *Cron) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	t, err := c.crontab(ctx, h.Accounts)
	if err != nil {
		return nil, err
	}
	before, err := c.text(ctx, h, t)
	if err != nil {
		return nil, err
	}
	e := edited(before, c.Name, c.wanted())
	if k, ok := kept.(*Cron); ok {
		return nil, c.stillBack(k, t, before, e.text)
	}
	back, properties := e.was, map[string]any{"ensure": absent}
	if c.Ensure != absent && !strings.Contains(before, c.job().command) {
		properties["made"] = c.job().command
	}
	if e.found > 0 && back != nil {
		properties = back.properties()
	}
	if c.User != "" {
		properties["user"] = c.User
	}
	if edited(e.text, c.Name, back).text != before {
		return nil, modules.Refuse("after this change, ccm-push could not restore the lines of this entry exactly at their place in %s", t)
	}
	return properties, nil
}

// stillBack checks that the stored reversal restores the same crontab after another change.
func (c *Cron) stillBack(kept *Cron, t crontab, before, after string) error {
	was := kept.wanted()
	if kept.User != c.User || edited(after, c.Name, was).text != edited(before, c.Name, was).text {
		return modules.Refuse("after this change, ccm-push could not restore the earlier lines of this entry in %s; set this entry to absent, and add a new entry with another name", t)
	}
	return nil
}

// properties are the properties of an entry with this job.
func (j job) properties() map[string]any {
	all := map[string]any{"ensure": present, "command": j.command, "disabled": j.disabled}
	if strings.HasPrefix(j.schedule, "@") {
		all["special"] = j.schedule
		return all
	}
	fields := []string{"minute", "hour", "day", "month", "weekday"}
	for i, text := range strings.Split(j.schedule, " ") {
		all[fields[i]] = text
	}
	return all
}
