package cron

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	const hint = " (*/5 is every fifth, 1-5 a range, 1,5 a list)"
	job := func(change func(c *Cron)) Cron {
		c := Cron{Name: "n", Command: "x", Minute: "*", Hour: "*", Day: "*", Month: "*", Weekday: "*"}
		change(&c)
		return c
	}
	for _, test := range []struct {
		name   string
		change func(c *Cron)
		err    string
	}{
		{"every minute", func(c *Cron) {}, ""},
		{"nothing but what is required", func(c *Cron) { *c = Cron{Name: "n", Command: "x"} }, ""},
		{"absent", func(c *Cron) { *c = Cron{Name: "n", Ensure: absent} }, ""},
		{"all fields", func(c *Cron) { c.Minute, c.Hour, c.Day, c.Month, c.Weekday = "0", "23", "31", "12", "7" }, ""},
		{"lists, ranges, steps", func(c *Cron) { c.Minute, c.Hour, c.Day = "0,30-40,*/7", "8-18/2,20", "1-31/31" }, ""},
		{"names", func(c *Cron) { c.Month, c.Weekday = "jan-Mar,DEC", "mon-fri,sun" }, ""},
		{"name and number", func(c *Cron) { c.Weekday = "sat-7" }, ""},
		{"leading zeros", func(c *Cron) { c.Minute, c.Hour = "05", "00" }, ""},
		{"special", func(c *Cron) { c.Special = "@daily" }, ""},
		{"special without @", func(c *Cron) { c.Special = "reboot" }, ""},
		{"long command", func(c *Cron) { c.Command = strings.Repeat("x", 999) }, ""},

		{"minute too large", func(c *Cron) { c.Minute = "60" }, `minute: minute "60": 60 is outside 0-59`},
		{"hour too large", func(c *Cron) { c.Hour = "1,24" }, `hour: hour "1,24": 24 is outside 0-23`},
		{"day too small", func(c *Cron) { c.Day = "0" }, `day: day "0": 0 is outside 1-31`},
		{"month too large", func(c *Cron) { c.Month = "1-13" }, `month: month "1-13": 13 is outside 1-12`},
		{"weekday too large", func(c *Cron) { c.Weekday = "8" }, `weekday: weekday "8": 8 is outside 0-7`},
		{"very large", func(c *Cron) { c.Minute = "99999999999999999999" }, `minute: minute "99999999999999999999": 99999999999999999999 is outside 0-59`},
		{"negative", func(c *Cron) { c.Minute = "-5" }, `minute: minute "-5": a number is missing` + hint},
		{"blanks", func(c *Cron) { c.Minute = "1 2" }, `minute: minute "1 2": "1 2" is not a number` + hint},
		{"newline", func(c *Cron) { c.Minute = "1\n" }, `minute: minute "1\n": "1\n" is not a number` + hint},
		{"fraction", func(c *Cron) { c.Minute = "1.5" }, `minute: minute "1.5": "1.5" is not a number` + hint},
		{"sign", func(c *Cron) { c.Minute = "+5" }, `minute: minute "+5": "+5" is not a number` + hint},
		{"names of others", func(c *Cron) { c.Month = "monday" }, `month: month "monday": "monday" is not a number or one of jan to dec` + hint},
		{"names where there are none", func(c *Cron) { c.Day = "mon" }, `day: day "mon": "mon" is not a number` + hint},
		{"empty element", func(c *Cron) { c.Minute = "1,,2" }, `minute: minute "1,,2": a number is missing` + hint},
		{"random", func(c *Cron) { c.Minute = "0~30" }, `minute: minute "0~30": "0~30" is not a number` + hint},
		{"range of everything", func(c *Cron) { c.Minute = "*-5" }, `minute: minute "*-5": "*" is not a number` + hint},
		{"half a range", func(c *Cron) { c.Minute = "5-" }, `minute: minute "5-": a number is missing` + hint},
		{"backwards", func(c *Cron) { c.Weekday = "fri-mon" }, `weekday: weekday "fri-mon": the range fri-mon ends before it begins (write two: fri-7,0-mon)`},
		{"step without a range", func(c *Cron) { c.Minute = "5/10" }, `minute: minute "5/10": the step /10 has no range (write 5-59/10)`},
		{"step of nothing", func(c *Cron) { c.Minute = "*/0" }, `minute: minute "*/0": the step "0" is not a number from 1 to 59`},
		{"no step", func(c *Cron) { c.Minute = "*/" }, `minute: minute "*/": the step "" is not a number from 1 to 59`},
		{"step too large", func(c *Cron) { c.Minute = "*/90" }, `minute: minute "*/90": the step "90" is not a number from 1 to 59`},
		{"two steps", func(c *Cron) { c.Minute = "*/2/3" }, `minute: minute "*/2/3": the step "2/3" is not a number from 1 to 59`},
		{"two wrong fields", func(c *Cron) { c.Minute, c.Hour = "60", "24" }, "minute: minute \"60\": 60 is outside 0-59\nhour: hour \"24\": 24 is outside 0-23"},

		{"special and a field", func(c *Cron) { c.Special, c.Hour = "@daily", "3" }, "hour: 'hour' and 'special' are mutually exclusive"},
		{"no command", func(c *Cron) { c.Command = "" }, "command: command cannot be empty"},
		{"blank command", func(c *Cron) { c.Command = " \t" }, "command: command cannot be empty"},
		{"command of two lines", func(c *Cron) { c.Command = "x\n* * * * * y" }, "command: command must be one line, without NUL bytes"},
		{"command too long", func(c *Cron) { c.Command = strings.Repeat("x", 1000) }, "command: command has 1000 bytes; cron may cut it off after 999 (put it into a script and run that)"},
		{"name of two lines", func(c *Cron) { c.Name = "x\n* * * * * y" }, "name: name must be one line, without NUL bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := job(test.change)
			err := c.Validate()
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
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
