package cron

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Cron is an entry of a crontab. The comment line above it identifies it, "#ccm-push: NAME"; the rest of the crontab
// is not changed.
type Cron struct {
	Name     string `json:"name" required:"true" doc:"identifies the entry: it is written in a comment line above it"`
	Ensure   string `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the entry is in the crontab"`
	Command  string `json:"command,omitempty" also:"job" doc:"command that cron passes to the shell; as in every crontab, a % ends the line unless written as \\%; required unless absent"`
	User     string `json:"user,omitempty" doc:"user (name or id) whose crontab it is; default: the user that the play runs as"`
	Minute   string `json:"minute,omitempty" default:"*" doc:"0-59, * for every one; 1,31 is a list, 1-5 a range, */10 or 0-30/10 every tenth"`
	Hour     string `json:"hour,omitempty" default:"*" doc:"0-23, likewise"`
	Day      string `json:"day,omitempty" default:"*" doc:"day of the month, 1-31, likewise"`
	Month    string `json:"month,omitempty" default:"*" doc:"1-12 or jan-dec, likewise"`
	Weekday  string `json:"weekday,omitempty" default:"*" doc:"0-7 or sun-sat, where 0 and 7 are Sunday, likewise; if day is given too, either is enough"`
	Special  string `json:"special,omitempty" also:"special_time" enum:"@reboot,@hourly,@daily,@midnight,@weekly,@monthly,@yearly,@annually,reboot,hourly,daily,midnight,weekly,monthly,yearly,annually" doc:"a word in place of the five fields"`
	Disabled bool   `json:"disabled,omitempty" doc:"keep the entry as a comment, so that it does not run"`
	// Made is the command of the entry to remove, if the resource undoes another one.
	Made string `json:"made,omitempty" wire:"only"`
}

// The values of ensure.
const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "cron",
		Doc: "Keeps an entry in a user's crontab, or keeps it away, by means of the crontab program. " +
			"Other entries, settings and comments stay unchanged.",
		New: func() modules.Resource { return new(Cron) },
	}
}

// maxCommand is how many bytes of a command Debian's cron keeps; it truncates longer ones silently (MAX_COMMAND of its
// cron.h, less the NUL).
const maxCommand = 999

// Validate implements [modules.Resource].
func (c *Cron) Validate() error {
	errs := []error{
		modules.ValidateLine("name", c.Name),
		modules.ValidateLine("command", c.Command),
		c.validateSpecial(),
	}
	for _, v := range c.values() {
		errs = append(errs, v.validate())
	}
	switch {
	case c.Ensure != absent && strings.Trim(c.Command, blanks) == "":
		errs = append(errs, modules.Errorf("command", `"command" cannot be empty`))
	case len(c.Command) > maxCommand:
		errs = append(errs, &modules.PropertyError{
			Path: "command",
			Msg:  fmt.Sprintf("command has %d bytes; cron may cut it off after %d", len(c.Command), maxCommand),
			Hint: "put it into a script and run that",
		})
	}
	return errors.Join(errs...)
}

func (c *Cron) validateSpecial() error {
	if c.Special == "" {
		return nil
	}
	var errs []error
	for _, v := range c.values() {
		if v.text != "" && v.text != every {
			errs = append(errs, modules.Errorf(v.name, "'%s' and 'special' are mutually exclusive", v.name))
		}
	}
	return errors.Join(errs...)
}

// values are the five fields in the order of a crontab.
func (c *Cron) values() []value {
	return []value{{minute, c.Minute}, {hour, c.Hour}, {day, c.Day}, {month, c.Month}, {weekday, c.Weekday}}
}

// job is the desired entry.
func (c *Cron) job() job {
	j := job{command: strings.TrimLeft(c.Command, blanks), disabled: c.Disabled}
	if c.Special != "" {
		j.schedule = "@" + strings.TrimPrefix(c.Special, "@")
		return j
	}
	fields := make([]string, 0, 5)
	for _, v := range c.values() {
		fields = append(fields, v.text)
	}
	j.schedule = strings.Join(fields, " ")
	return j
}
