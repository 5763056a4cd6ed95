package user

import (
	"strconv"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

const (
	never  = "never"
	oneDay = 24 * time.Hour
)

// parseExpiry gives the days from 1970 to a date as shadow(5) has them; "" is no
// end. The first of 1970 is none that shadow(5) lets one write.
func parseExpiry(text string) (days string, err error) {
	if text == "" || text == never {
		return "", nil
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || date.Unix() < int64(oneDay/time.Second) {
		return "", &modules.PropertyError{
			Path: "expires",
			Msg:  strconv.Quote(text) + " is not a date after 1970-01-01",
			Hint: "write a day such as 2030-12-31, or never",
		}
	}
	return strconv.FormatInt(date.Unix()/int64(oneDay/time.Second), 10), nil
}

// describeExpiry writes the days of shadow(5) as expires does.
func describeExpiry(days string) string {
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil || n < 0 {
		return never
	}
	return time.Unix(n*int64(oneDay/time.Second), 0).UTC().Format(time.DateOnly)
}
