package nodeset

import "strings"

// MaxName is the longest name of a host or a group, in bytes: that of a DNS name.
const MaxName = 253

// NameHint says what [IsName] asks for.
const NameHint = "letters, digits and _ . - are allowed, and a name does not begin with -"

// IsName holds s to what host names, addresses and zones are made of: names end
// up in file names, known_hosts files and on terminals.
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
