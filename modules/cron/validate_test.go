package cron

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	const hint = " (*/5 is every fifth, 1-5 a range, 1,5 a list)"
	job := func(change func(c *Cron)) Cron {
		c := Cron{Name: "n", Command: "x", Minute: "*", Hour: "*", Day: "*", Month: "*", Weekday: "*"}
		change(&c)
		return c
	}
	modtest.Validates(t, []modtest.Verdict[Cron]{
		{Name: "every minute", Of: job(func(c *Cron) {})},
		{Name: "nothing but what is required", Of: job(func(c *Cron) { *c = Cron{Name: "n", Command: "x"} })},
		{Name: "absent", Of: job(func(c *Cron) { *c = Cron{Name: "n", Ensure: absent} })},
		{Name: "all fields", Of: job(func(c *Cron) { c.Minute, c.Hour, c.Day, c.Month, c.Weekday = "0", "23", "31", "12", "7" })},
		{Name: "lists, ranges, steps", Of: job(func(c *Cron) { c.Minute, c.Hour, c.Day = "0,30-40,*/7", "8-18/2,20", "1-31/31" })},
		{Name: "names", Of: job(func(c *Cron) { c.Month, c.Weekday = "jan-Mar,DEC", "mon-fri,sun" })},
		{Name: "name and number", Of: job(func(c *Cron) { c.Weekday = "sat-7" })},
		{Name: "leading zeros", Of: job(func(c *Cron) { c.Minute, c.Hour = "05", "00" })},
		{Name: "special", Of: job(func(c *Cron) { c.Special = "@daily" })},
		{Name: "special without @", Of: job(func(c *Cron) { c.Special = "reboot" })},
		{Name: "long command", Of: job(func(c *Cron) { c.Command = strings.Repeat("x", 999) })},

		{Name: "minute too large", Of: job(func(c *Cron) { c.Minute = "60" }), Err: `minute: minute "60": 60 is outside 0-59`},
		{Name: "hour too large", Of: job(func(c *Cron) { c.Hour = "1,24" }), Err: `hour: hour "1,24": 24 is outside 0-23`},
		{Name: "day too small", Of: job(func(c *Cron) { c.Day = "0" }), Err: `day: day "0": 0 is outside 1-31`},
		{Name: "month too large", Of: job(func(c *Cron) { c.Month = "1-13" }), Err: `month: month "1-13": 13 is outside 1-12`},
		{Name: "weekday too large", Of: job(func(c *Cron) { c.Weekday = "8" }), Err: `weekday: weekday "8": 8 is outside 0-7`},
		{Name: "very large", Of: job(func(c *Cron) { c.Minute = "99999999999999999999" }), Err: `minute: minute "99999999999999999999": 99999999999999999999 is outside 0-59`},
		{Name: "negative", Of: job(func(c *Cron) { c.Minute = "-5" }), Err: `minute: minute "-5": a number is missing` + hint},
		{Name: "blanks", Of: job(func(c *Cron) { c.Minute = "1 2" }), Err: `minute: minute "1 2": "1 2" is not a number` + hint},
		{Name: "newline", Of: job(func(c *Cron) { c.Minute = "1\n" }), Err: `minute: minute "1\n": "1\n" is not a number` + hint},
		{Name: "fraction", Of: job(func(c *Cron) { c.Minute = "1.5" }), Err: `minute: minute "1.5": "1.5" is not a number` + hint},
		{Name: "sign", Of: job(func(c *Cron) { c.Minute = "+5" }), Err: `minute: minute "+5": "+5" is not a number` + hint},
		{Name: "names of others", Of: job(func(c *Cron) { c.Month = "monday" }), Err: `month: month "monday": "monday" is not a number or one of jan to dec` + hint},
		{Name: "names where there are none", Of: job(func(c *Cron) { c.Day = "mon" }), Err: `day: day "mon": "mon" is not a number` + hint},
		{Name: "empty element", Of: job(func(c *Cron) { c.Minute = "1,,2" }), Err: `minute: minute "1,,2": a number is missing` + hint},
		{Name: "random", Of: job(func(c *Cron) { c.Minute = "0~30" }), Err: `minute: minute "0~30": "0~30" is not a number` + hint},
		{Name: "range of everything", Of: job(func(c *Cron) { c.Minute = "*-5" }), Err: `minute: minute "*-5": "*" is not a number` + hint},
		{Name: "half a range", Of: job(func(c *Cron) { c.Minute = "5-" }), Err: `minute: minute "5-": a number is missing` + hint},
		{Name: "backwards", Of: job(func(c *Cron) { c.Weekday = "fri-mon" }), Err: `weekday: weekday "fri-mon": the range fri-mon ends before it begins (write two ranges: fri-7,0-mon (7 and 0 are both Sunday))`},
		{Name: "step without a range", Of: job(func(c *Cron) { c.Minute = "5/10" }), Err: `minute: minute "5/10": the step /10 has no range (write 5-59/10)`},
		{Name: "step of nothing", Of: job(func(c *Cron) { c.Minute = "*/0" }), Err: `minute: minute "*/0": the step "0" is not a number from 1 to 59`},
		{Name: "no step", Of: job(func(c *Cron) { c.Minute = "*/" }), Err: `minute: minute "*/": the step "" is not a number from 1 to 59`},
		{Name: "step too large", Of: job(func(c *Cron) { c.Minute = "*/90" }), Err: `minute: minute "*/90": the step "90" is not a number from 1 to 59`},
		{Name: "two steps", Of: job(func(c *Cron) { c.Minute = "*/2/3" }), Err: `minute: minute "*/2/3": the step "2/3" is not a number from 1 to 59`},
		{Name: "two wrong fields", Of: job(func(c *Cron) { c.Minute, c.Hour = "60", "24" }), Err: "minute: minute \"60\": 60 is outside 0-59\nhour: hour \"24\": 24 is outside 0-23"},

		{Name: "special and a field", Of: job(func(c *Cron) { c.Special, c.Hour = "@daily", "3" }), Err: "hour: 'hour' and 'special' are mutually exclusive"},
		{Name: "no command", Of: job(func(c *Cron) { c.Command = "" }), Err: `command: "command" cannot be empty`},
		{Name: "blank command", Of: job(func(c *Cron) { c.Command = " \t" }), Err: `command: "command" cannot be empty`},
		{Name: "command of two lines", Of: job(func(c *Cron) { c.Command = "x\n* * * * * y" }), Err: `command: "command" must be one line, without NUL bytes`},
		{Name: "command too long", Of: job(func(c *Cron) { c.Command = strings.Repeat("x", 1000) }), Err: "command: command has 1000 bytes; cron may cut it off after 999 (put it into a script and run that)"},
		{Name: "name of two lines", Of: job(func(c *Cron) { c.Name = "x\n* * * * * y" }), Err: `name: "name" must be one line, without NUL bytes`},
	})
}

// FuzzSchedule uses any text as a field: accepted text has only the characters of a schedule, so that it is one word,
// and is read back unchanged.
func FuzzSchedule(f *testing.F) {
	for _, text := range []string{"*", "*/5", "1-5", "1,5-9/2", "jan-mar", "fri-mon", "5/10", "60", ",", "1 2", "~", "sat-7"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, field := range []field{minute, hour, day, month, weekday} {
			if text == "" || (value{field, text}).validate() != nil {
				continue
			}
			require.Empty(t, strings.Trim(strings.ToLower(text), "0123456789abcdefghijklmnopqrstuvwxyz*,-/"))
		}
	})
}
