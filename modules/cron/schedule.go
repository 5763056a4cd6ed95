package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A field is one of the five fields of a schedule. It accepts the syntax that both Debian's cron and cronie document in
// crontab(5); syntax of only one of them is refused.
type field struct {
	name      string
	low, high int
	names     []string // names of low and the following numbers
}

var (
	minute  = field{name: "minute", high: 59}
	hour    = field{name: "hour", high: 23}
	day     = field{name: "day", low: 1, high: 31}
	month   = field{name: "month", low: 1, high: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}
	weekday = field{name: "weekday", high: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}
)

// every matches all values of a field.
const every = "*"

// A value is the text of a field.
type value struct {
	field
	text string
}

// validate returns a [modules.PropertyError] about the property of the field.
func (v value) validate() error {
	if v.text == "" { // the default is set elsewhere
		return nil
	}
	for element := range strings.SplitSeq(v.text, ",") {
		if msg, hint := v.element(element); msg != "" {
			return &modules.PropertyError{Path: v.name, Msg: fmt.Sprintf("%s %q: %s", v.name, v.text, msg), Hint: hint}
		}
	}
	return nil
}

// element returns the error in an element of the list, or "".
func (v value) element(text string) (msg, hint string) {
	span, step, hasStep := strings.Cut(text, "/")
	from, to, isRange := strings.Cut(span, "-")
	switch {
	case isRange:
		msg, hint = v.span(from, to)
	case span != every:
		_, msg, hint = v.number(from)
	}
	switch {
	case msg != "" || !hasStep:
		return msg, hint
	case span != every && !isRange:
		return fmt.Sprintf("the step /%s has no range", step), fmt.Sprintf("write %s-%d/%s", from, v.high, step)
	}
	return v.step(step)
}

func (v value) span(from, to string) (msg, hint string) {
	low, msg, hint := v.number(from)
	if msg != "" {
		return msg, hint
	}
	high, msg, hint := v.number(to)
	if msg == "" && high < low {
		msg = fmt.Sprintf("the range %s-%s ends before it begins", from, to)
		hint = fmt.Sprintf("write two ranges: %s-%d,%d-%s", from, v.high, v.low, to)
		if v.name == weekday.name {
			hint += " (7 and 0 are both Sunday)"
		}
	}
	return msg, hint
}

// number reads a number or a name.
func (v value) number(text string) (n int, msg, hint string) {
	if i := slices.Index(v.names, strings.ToLower(text)); i >= 0 {
		return v.low + i, "", ""
	}
	if text == "" {
		return 0, "a number is missing", "*/5 is every fifth, 1-5 a range, 1,5 a list"
	}
	if !digits(text) {
		return 0, fmt.Sprintf("%q is not a number%s", text, v.orName()), "*/5 is every fifth, 1-5 a range, 1,5 a list"
	}
	if n, err := strconv.Atoi(text); err == nil && n >= v.low && n <= v.high {
		return n, "", ""
	}
	return 0, fmt.Sprintf("%s is outside %d-%d", text, v.low, v.high), ""
}

func (v value) orName() string {
	if v.names == nil {
		return ""
	}
	return fmt.Sprintf(" or one of %s to %s", v.names[0], v.names[len(v.names)-1])
}

func (v value) step(text string) (msg, hint string) {
	n, err := strconv.Atoi(text)
	if !digits(text) || err != nil || n < 1 || n > v.high {
		return fmt.Sprintf("the step %q is not a number from 1 to %d", text, v.high), ""
	}
	return "", ""
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// isSchedule reports whether five words are a schedule.
func isSchedule(words []string) bool {
	for i, f := range []field{minute, hour, day, month, weekday} {
		if words[i] == "" || (value{f, words[i]}).validate() != nil {
			return false
		}
	}
	return true
}
