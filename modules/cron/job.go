package cron

import "strings"

// blanks separate the words of an entry.
const blanks = " \t"

// A job is an entry of a crontab.
type job struct {
	schedule string // five words with single blanks, or one that begins with @
	command  string
	disabled bool
}

// String is the line of the crontab.
func (j job) String() string {
	line := j.schedule + " " + j.command
	if j.disabled {
		return "#" + line
	}
	return line
}

// parseJob reads the line below a marker. ok is false if it cannot be an entry, such as the line that follows after the
// entry was removed manually. A comment must be a disabled entry that this type could have written; any other comment
// is not an entry.
func parseJob(line string) (j job, ok bool) {
	line = strings.TrimLeft(line, blanks)
	rest, disabled := strings.CutPrefix(line, "#")
	j, ok = splitJob(strings.TrimLeft(rest, blanks))
	if disabled && ok && !strings.HasPrefix(j.schedule, "@") {
		ok = isSchedule(strings.Split(j.schedule, " "))
	}
	j.disabled = disabled
	return j, ok
}

// splitJob splits a line that may be an entry for any of the supported crons. Some crons have more syntax than we
// write: -, ~ and other words with @.
func splitJob(line string) (j job, ok bool) {
	if line == "" || strings.IndexByte("0123456789*@~-", line[0]) < 0 {
		return job{}, false
	}
	words := 5
	if line[0] == '@' {
		words = 1
	}
	var schedule []string
	for range words {
		i := strings.IndexAny(line, blanks)
		if i < 0 {
			return job{}, false
		}
		schedule = append(schedule, line[:i])
		line = strings.TrimLeft(line[i:], blanks)
	}
	return job{schedule: strings.Join(schedule, " "), command: line}, line != ""
}
