package knownhosts

import (
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"
)

// excerptOf begins the comment of a copied line. The comment names the line of the original file, where the user can
// change it.
const excerptOf = "excerpt of "

// Excerpt returns a known_hosts file with the view's lines for one host. It includes the revoked keys of all hosts.
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
