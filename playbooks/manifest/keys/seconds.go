package keys

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Seconds is a duration as everywhere, or a bare number of seconds.
type Seconds time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Seconds) UnmarshalText(text []byte) error {
	d, err := parseSeconds(string(text))
	*s = Seconds(d)
	return err
}

// maxDuration is that of a delay or a timeout.
const maxDuration = 30 * 24 * time.Hour

func parseSeconds(text string) (time.Duration, error) {
	unit := time.Duration(1)
	number := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		number, unit = days+"h", 24
	}
	d, err := time.ParseDuration(number)
	if n, bare := strconv.ParseFloat(text, 64); bare == nil && !math.IsNaN(n) && math.Abs(n) < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%.40q is no duration", text)
	case d < 0 || d > maxDuration/unit:
		return 0, fmt.Errorf("%s is outside 0s-30d", text)
	}
	return d * unit, nil
}
