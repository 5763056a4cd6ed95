package knownhosts

import (
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"
)

// excerptOf begins the comment of a line that was taken from another file, and says which of its lines that is: it is
// there that something can be done about it.
const excerptOf = "excerpt of "

// Excerpt is a known_hosts file that says of one host what the view says of it, and of no other. Keys
// that are revoked are in it whatever host they were written down for.
func (v *View) Excerpt(h Host) string {
	known, authorities, revokedKeys := v.linesFor(h)
	var text strings.Builder
	line := func(marker, name string, e *entry) {
		if marker != "" {
			text.WriteString("@" + marker + " ")
		}
		text.WriteString(name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(e.key))))
		if where := e.where(); strings.IndexFunc(where, unicode.IsControl) < 0 { // it would end the line
			text.WriteString(" " + excerptOf + where)
		}
		text.WriteString("\n")
	}
	for i := range known {
		line("", h.Name, &known[i])
	}
	for i := range authorities {
		line(certAuthority, h.Name, &authorities[i])
	}
	for i := range revokedKeys {
		line(revoked, "*", &revokedKeys[i])
	}
	return text.String()
}
