package pattern

import (
	"net/netip"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// MaxName is the longest name of a host or a group, in bytes, like a DNS name.
const MaxName = 253

// nameHint describes the names that [IsName] accepts.
const nameHint = "letters, digits and _ . - are allowed, and a name does not begin with -"

// IsName reports whether s has only characters of host names, addresses and zones, since
// names end up in file names, in known_hosts files and on terminals.
func IsName(s string) bool {
	if s == "" || len(s) > MaxName || s[0] == '-' {
		return false
	}
	solid := false // has a letter or digit, unlike ".."
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
			solid = true
		case strings.IndexByte("_.:%-", c) < 0:
			return false
		}
	}
	return solid
}

// CheckNameIsText refuses keys that YAML does not read as text, such as 12 or true. what is the named thing, for the
// error: "host".
func CheckNameIsText(key *yamlpos.Node, what string) error {
	if _, text := key.Value.(string); !text {
		hint := "quote it: \"" + key.Text + "\""
		if key.Value == nil {
			hint = "write a name"
		}
		return key.Errorf(hint, "%s name %s is read as %s", what, key.Text, kindOf(key))
	}
	return nil
}

func kindOf(n *yamlpos.Node) string {
	switch n.Value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	}
	return "a number"
}

// CheckGroupName refuses what cannot be the name of a group.
func CheckGroupName(key *yamlpos.Node) error {
	if err := CheckNameIsText(key, "group"); err != nil {
		return err
	}
	if !IsName(key.Text) || strings.Contains(key.Text, ":") {
		return key.Errorf(nameHint, "%q cannot be a group name", key.Text)
	}
	return nil
}

// CheckHostName accepts names and addresses. Only IPv6 addresses have colons. name comes
// from key, which may be a range of several names.
func CheckHostName(key *yamlpos.Node, name string) error {
	switch {
	case !IsName(name):
		return key.Errorf(nameHint, "%q cannot be a host name", name)
	case !IsHostName(name):
		return key.Errorf("a colon is allowed in IPv6 addresses, and before a port from 1 to 65535", "%q cannot be a host name", name)
	}
	return nil
}

// IsHostName reports whether s is a name, or an address, without brackets and port.
func IsHostName(s string) bool {
	return IsName(s) && (!strings.Contains(s, ":") || isIPv6(s))
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// SplitPort splits a port from a host: name:22, name[1:3]:22, [2001:db8::1]:22. The port is "" if there is none; else
// it is digits, of any value.
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

// bracketed returns the IPv6 address in [2001:db8::1].
func bracketed(s string) (address string, ok bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return "", false
	}
	address = s[1 : len(s)-1] // its zone might have anything in it
	return address, !strings.ContainsAny(address, "[]") && isIPv6(address)
}

// hasOpenColon reports whether host is empty, has a colon outside brackets, or brackets that do not match: then the
// digits after it are not a port.
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
