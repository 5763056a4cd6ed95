package schema

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// formats are those that are looked at. "regex" is none of them: what is a pattern in
// ECMA-262 may be none here.
var formats = [...]struct {
	name string
	is   func(string) bool
}{
	{"date", isDate}, {"time", isTime}, {"date-time", isDateTime}, {"duration", isDuration}, {"period", isPeriod},
	{"email", isEmail}, {"hostname", isHostname}, {"ipv4", isIPv4}, {"ipv6", isIPv6},
	{"uri", isURI}, {"iri", isURI}, {"uri-reference", isReference}, {"iri-reference", isReference}, {"uri-template", isTemplate},
	{"uuid", isUUID}, {"json-pointer", isPointer}, {"relative-json-pointer", isRelativePointer}, {"semver", isSemver},
}

// ofFormat reports whether a text has a format. Those that are not known accept
// everything.
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
	if len(s) < len("00:00:00Z") || s[2] != ':' || s[5] != ':' {
		return false
	}
	h, ok1 := twoDigits(s[:2], 23)
	m, ok2 := twoDigits(s[3:5], 59)
	sec, ok3 := twoDigits(s[6:8], 60)
	rest := s[8:]
	if strings.HasPrefix(rest, ".") {
		digits := leadingDigits(rest[1:])
		if digits == 0 {
			return false
		}
		rest = rest[1+digits:]
	}
	offset, ok4 := utcOffset(rest)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return false
	}
	const day = 24 * 60
	return sec < 60 || (h*60+m-offset+day)%day == day-1
}

// utcOffset reads Z or +hh:mm, in minutes.
func utcOffset(s string) (minutes int, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+00:00") || s[3] != ':' || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	h, ok1 := twoDigits(s[1:3], 23)
	m, ok2 := twoDigits(s[4:], 59)
	minutes = h*60 + m
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, ok1 && ok2
}

func twoDigits(s string, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && allDigits(s) && n <= most
}

func isDateTime(s string) bool {
	const at = len(time.DateOnly)
	return len(s) > at && (s[at] == 'T' || s[at] == 't') && isDate(s[:at]) && isTime(s[at+1:])
}

// isDuration takes those of RFC 3339, appendix A: units in order, weeks by themselves.
func isDuration(s string) bool {
	s, ok := strings.CutPrefix(s, "P")
	if weeks, ok := strings.CutSuffix(s, "W"); ok {
		return weeks != "" && allDigits(weeks)
	}
	date, clock, hasClock := strings.Cut(s, "T")
	return ok && s != "" && inUnits(date, "YMD") && inUnits(clock, "HMS") && (!hasClock || clock != "")
}

func inUnits(s, units string) bool {
	for s != "" {
		digits := leadingDigits(s)
		if digits == 0 || digits == len(s) {
			return false
		}
		at := strings.IndexByte(units, s[digits])
		if at < 0 {
			return false
		}
		units, s = units[at+1:], s[digits+1:]
	}
	return true
}

// isPeriod takes those of RFC 3339, appendix A: two points in time, or one and how long.
func isPeriod(s string) bool {
	start, end, _ := strings.Cut(s, "/")
	if strings.HasPrefix(start, "P") {
		return isDuration(start) && isDateTime(end)
	}
	return isDateTime(start) && (isDateTime(end) || isDuration(end))
}

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || !onlyOf(label, alphanumeric+"-") {
			return false
		}
	}
	return true
}

// isEmail takes addresses of RFC 5321 without comments.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at > 64 || len(s) > 254 {
		return false
	}
	local, domain := s[:at], s[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok && strings.HasSuffix(literal, "]") {
		literal = strings.TrimSuffix(literal, "]")
		v6, isV6 := strings.CutPrefix(literal, "IPv6:")
		return isLocalPart(local) && (isV6 && isIPv6(v6) || !isV6 && isIPv4(literal))
	}
	return isLocalPart(local) && isHostname(domain)
}

func isLocalPart(s string) bool {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return !strings.ContainsAny(s[1:len(s)-1], `\"`)
	}
	return !strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.Contains(s, "..") &&
		onlyOf(s, alphanumeric+".!#$%&'*+-/=?^_`{|}~")
}

func isIPv4(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is4()
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}

var errAddress = errors.New("an IPv6 address stands in brackets")

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

// isTemplate takes URIs with expressions in braces, which are not nested (RFC 6570).
func isTemplate(s string) bool {
	_, err := parseURI(s)
	open := false
	for _, r := range s {
		switch r {
		case '{', '}':
			if open == (r == '{') {
				return false
			}
			open = !open
		}
	}
	return err == nil && !open
}

func isUUID(s string) bool {
	const like = "00000000-0000-0000-0000-000000000000"
	if len(s) != len(like) {
		return false
	}
	for i := range len(s) {
		if (s[i] == '-') != (like[i] == '-') || s[i] != '-' && !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])) {
			return false
		}
	}
	return true
}

// isPointer takes JSON pointers (RFC 6901).
func isPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	return !strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(s), "~")
}

func isRelativePointer(s string) bool {
	digits := leadingDigits(s)
	if digits == 0 || digits > 1 && s[0] == '0' {
		return false
	}
	return s[digits:] == "#" || isPointer(s[digits:])
}

// isSemver takes versions of semver.org, 2.0.0.
func isSemver(s string) bool {
	s, build, hasBuild := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(s, "-")
	numbers := strings.Split(core, ".")
	for _, n := range numbers {
		if n == "" || !allDigits(n) || len(n) > 1 && n[0] == '0' {
			return false
		}
	}
	return len(numbers) == 3 && (!hasBuild || identifiers(build, true)) && (!hasPre || identifiers(pre, false))
}

func identifiers(s string, zeros bool) bool {
	for id := range strings.SplitSeq(s, ".") {
		if id == "" || !onlyOf(id, alphanumeric+"-") || !zeros && len(id) > 1 && id[0] == '0' && allDigits(id) {
			return false
		}
	}
	return true
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// onlyOf reports whether a text has no other letters.
func onlyOf(s, letters string) bool { return strings.Trim(s, letters) == "" }

func allDigits(s string) bool { return leadingDigits(s) == len(s) }

func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
