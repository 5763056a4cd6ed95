package exec

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

const day = 24 * time.Hour

// units are the lengths of the units of a timeout: Go's units and, from the duration parser of CCM, d, w, M (30 days) and y
// (365 days).
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "w": 7 * day, "M": 30 * day, "y": 365 * day,
}

// Longest implements [modules.Limited]: the command and each guard may take the timeout.
func (e *Exec) Longest() time.Duration {
	timeout, _ := parseTimeout(e.Timeout) // Validate reports the error
	commands := 1
	for _, guard := range []string{e.OnlyIf, e.Unless} {
		if guard != "" {
			commands++
		}
	}
	return time.Duration(commands) * timeout
}

// parseTimeout reads a duration such as 90s, 1h30m, 1.5d or 0; "" is 0, which
// means no limit.
func parseTimeout(text string) (time.Duration, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	var total float64
	for rest := text; rest != ""; {
		number, unit, after := cutTerm(rest)
		n, err := strconv.ParseFloat(number, 64)
		length, known := units[unit]
		if err != nil || !known {
			return 0, invalidDuration(text)
		}
		total += n * float64(length)
		rest = after
	}
	if total > math.MaxInt64/2 {
		return 0, invalidDuration(text)
	}
	return time.Duration(math.Round(total)), nil
}

func invalidDuration(text string) error {
	return &modules.PropertyError{
		Path: "timeout",
		Msg:  "invalid duration " + strconv.Quote(text),
		Hint: "write a number and a unit, such as 30s, 5m, 2h or 1d",
	}
}

// cutTerm splits off a number and the unit after it.
func cutTerm(s string) (number, unit, rest string) {
	numeric := func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }
	end := strings.IndexFunc(s, func(r rune) bool { return !numeric(r) })
	if end < 0 {
		return s, "", ""
	}
	number, s = s[:end], s[end:]
	if end = strings.IndexFunc(s, numeric); end < 0 {
		return number, s, ""
	}
	return number, s[:end], s[end:]
}
