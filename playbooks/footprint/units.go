package footprint

import (
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/transport/start"
)

func sizeText(t start.Trace) string {
	switch {
	case t.Whole:
		return bytesText(t.Size) + " in all"
	case t.Mode.IsDir():
		return "-"
	}
	return bytesText(t.Size)
}

// bytesText is a number of bytes for people, in units of 1024.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func ages(from, to time.Duration) string {
	if ageText(from) == ageText(to) {
		return ageText(from)
	}
	return ageText(from) + "-" + ageText(to)
}

// ageText is how long ago something was, in its largest unit.
func ageText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}
