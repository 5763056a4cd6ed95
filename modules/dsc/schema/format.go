package schema

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// formats are the formats that are checked. "regex" is omitted: Go does not support all patterns of ECMA-262.
var formats = [...]struct {
	name string
	is   func(string) bool
}{
	{"date", isDate}, {"time", isTime}, {"date-time", isDateTime}, {"duration", isDuration}, {"period", isPeriod},
	{"email", isEmail}, {"hostname", isHostname}, {"ipv4", isIPv4}, {"ipv6", isIPv6},
	{"uri", isURI}, {"iri", isURI}, {"uri-reference", isReference}, {"iri-reference", isReference}, {"uri-template", isTemplate},
	{"uuid", like(uuid)}, {"json-pointer", isPointer}, {"relative-json-pointer", like(`(0|[1-9][0-9]*)(#|` + pointer + `)`)}, {"semver", like(semver)},
}

// Patterns of formats.
const (
	clock    = `([01][0-9]|2[0-3]):([0-5][0-9])`
	time3339 = clock + `:([0-5][0-9]|60)(\.[0-9]+)?(Z|z|([-+])` + clock + `)`
	// Durations of RFC 3339, appendix A: units in order, weeks by themselves.
	duration = `P([0-9]+W|([0-9]+Y)?([0-9]+M)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?)`
	label    = `[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?`
	atom     = "[-A-Za-z0-9!#$%&'*+/=?^_`{|}~]+"
	// The part of an address of RFC 5321 before the @, without comments.
	localPart = `("[^"\\]*"|(` + atom + `(\.` + atom + `)*)?)`
	uuid      = `[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`
	pointer   = `(/([^~]|~[01])*)?`   // RFC 6901
	template  = `([^{}]|\{[^{}]*\})*` // expressions in braces are not nested (RFC 6570)
	// Versions of semver.org, 2.0.0.
	semver  = release + `\.` + release + `\.` + release + `(-` + before + `(\.` + before + `)*)?(\+[-0-9A-Za-z]+(\.[-0-9A-Za-z]+)*)?`
	release = `(0|[1-9][0-9]*)`
	before  = `(` + release + `|[0-9]*[-A-Za-z][-0-9A-Za-z]*)`
)

var (
	parseTime    = sync.OnceValue(func() *regexp.Regexp { return whole(time3339) })
	likeDuration = like(duration)
	isPointer    = like(pointer)
	likeHostname = like(`(` + label + `\.)*` + label + `\.?`)
	isLocalPart  = like(localPart)
	likeTemplate = like(template)
)

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?s:` + pattern + `)$`) }

// like returns a function that matches a text against a pattern, which is compiled with the first text.
func like(pattern string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return whole(pattern) })
	return func(s string) bool { return compiled().MatchString(s) }
}

// ofFormat reports whether a text has a format. Unknown formats accept everything.
func ofFormat(format, text string) bool {
	for _, f := range formats {
		if f.name == format {
			return f.is(text)
		}
	}
	return true
}

func isURI(s string) bool {
	u, err := parseURI(s)
	return err == nil && u.IsAbs()
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isTime takes full-time of RFC 3339: the offset must be there, and a leap second is
// the last one of a day in UTC.
func isTime(s string) bool {
	parts := parseTime().FindStringSubmatch(s)
	if parts == nil || parts[3] != "60" {
		return parts != nil
	}
	minutes := func(hour, minute string) int {
		h, _ := strconv.Atoi(hour)
		m, _ := strconv.Atoi(minute)
		return h*60 + m
	}
	at, offset := minutes(parts[1], parts[2]), minutes(parts[7], parts[8])
	if parts[6] == "-" {
		offset = -offset
	}
	const day = 24 * 60
	return (at-offset+day)%day == day-1
}

func isDateTime(s string) bool {
	const at = len(time.DateOnly)
	return len(s) > at && (s[at] == 'T' || s[at] == 't') && isDate(s[:at]) && isTime(s[at+1:])
}

func isDuration(s string) bool {
	return likeDuration(s) && !strings.HasSuffix(s, "P") && !strings.HasSuffix(s, "T")
}

// isPeriod accepts the periods of RFC 3339, appendix A: two points in time, or one and a duration.
func isPeriod(s string) bool {
	start, end, _ := strings.Cut(s, "/")
	if strings.HasPrefix(start, "P") {
		return isDuration(start) && isDateTime(end)
	}
	return isDateTime(start) && (isDateTime(end) || isDuration(end))
}

func isHostname(s string) bool { return len(strings.TrimSuffix(s, ".")) <= 253 && likeHostname(s) }

// isEmail takes addresses of RFC 5321 without comments.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at > 64 || len(s) > 254 || !isLocalPart(s[:at]) {
		return false
	}
	domain := s[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok && strings.HasSuffix(literal, "]") {
		literal = strings.TrimSuffix(literal, "]")
		v6, isV6 := strings.CutPrefix(literal, "IPv6:")
		return isV6 && isIPv6(v6) || !isV6 && isIPv4(literal)
	}
	return isHostname(domain)
}

func isIPv4(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is4()
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}

var errAddress = errors.New("write an IPv6 address in brackets")

// parseURI reads a URI, or a reference to one.
func parseURI(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, err
	}
	if host := u.Hostname(); strings.Contains(host, ":") && (!strings.HasPrefix(u.Host, "[") || !isIPv6(host)) {
		return nil, errAddress
	}
	return u, nil
}

func isReference(s string) bool {
	_, err := parseURI(s)
	return err == nil && !strings.Contains(s, `\`)
}

func isTemplate(s string) bool {
	_, err := parseURI(s)
	return err == nil && likeTemplate(s)
}
