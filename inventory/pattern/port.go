package pattern

import "strings"

// SplitPort takes a port off a host: name:22, name[1:3]:22, [2001:db8::1]:22. The
// port is "" if there is none; else it is digits, of whatever number.
func SplitPort(s string) (host, port string) {
	if address, ok := bracketed(s); ok {
		return address, ""
	}
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 || !isDigits(s[colon+1:]) {
		return s, ""
	}
	host, port = s[:colon], s[colon+1:]
	if address, ok := bracketed(host); ok {
		return address, port
	}
	if hasOpenColon(host) {
		return s, ""
	}
	return host, port
}

// bracketed gives the IPv6 address in [2001:db8::1].
func bracketed(s string) (address string, ok bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return "", false
	}
	address = s[1 : len(s)-1] // its zone might have anything in it
	return address, !strings.ContainsAny(address, "[]") && isIPv6(address)
}

// hasOpenColon reports whether host is empty, or has a colon that stands in no
// brackets, or brackets that do not match: then what follows it is no port.
func hasOpenColon(host string) bool {
	for rest := host; rest != ""; {
		switch rest[0] {
		case ':', ']':
			return true
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return true
			}
			rest = rest[end:]
		}
		rest = rest[1:]
	}
	return host == ""
}
