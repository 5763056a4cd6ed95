package expression

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

func isIP(s string) bool { return net.ParseIP(s) != nil }

func isIPv4(s string) bool { return net.ParseIP(s).To4() != nil }

// isIPv6 does not take an IPv4 address in the form of IPv6.
func isIPv6(s string) bool { return isIP(s) && !isIPv4(s) }

func isInt(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

func isFloat(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// isShellSafe reports whether a text has none of the characters in CCM's list, which split it into several words or
// commands. Quotes, globs and the like are not in this list.
func isShellSafe(s string) bool { return !strings.ContainsAny(strings.TrimSpace(s), "`$;|&><()\n") }

// isHostLabel takes a label of RFC 1123, section 2.1: 1 to 63 letters, digits and,
// but at its ends, hyphens.
func isHostLabel(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' && !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-')
	})
}

// isHostname takes one label or several, with 253 characters at most.
func isHostname(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !isHostLabel(label) {
			return false
		}
	}
	return true
}

// isFQDN accepts a host name of two labels or more, with an optional dot at the end. The last label is not a number, or
// it would be an address.
func isFQDN(s string) bool {
	s = strings.TrimSuffix(s, ".")
	i := strings.LastIndexByte(s, '.')
	return i >= 0 && isHostname(s) && strings.Trim(s[i+1:], "0123456789") != ""
}

var (
	duration = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|[smhdDwWMyY]))+$`)
	})
	durationPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([0-9.]+)([^0-9.]+)`) })
)

// isDuration takes Go's durations with d, w, M and y for days, weeks, months of
// 30 days and years of 365, as CCM does: 1w2d, 1.5h. Their sum fits a Go
// duration, which is 292 years.
func isDuration(s string) bool {
	if s = strings.TrimSpace(s); s == "0" {
		return true
	}
	if !duration().MatchString(s) {
		return false
	}
	total := 0.0
	for _, part := range durationPart().FindAllStringSubmatch(s, -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return false
		}
		total += n * float64(unit(part[2]))
	}
	return total < float64(1<<63-1)
}

func unit(name string) time.Duration {
	const day = 24 * time.Hour
	switch name {
	case "y", "Y":
		return 365 * day
	case "M":
		return 30 * day
	case "w", "W":
		return 7 * day
	case "d", "D":
		return day
	case "h":
		return time.Hour
	case "m":
		return time.Minute
	case "s":
		return time.Second
	case "ms":
		return time.Millisecond
	case "ns":
		return time.Nanosecond
	}
	return time.Microsecond
}
