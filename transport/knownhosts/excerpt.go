package knownhosts

import (
	"strings"

	"golang.org/x/crypto/ssh"
)

// Excerpt is a known_hosts file that says of one host what the view says of it, and of no other. Keys
// that are revoked are in it whatever host they were written down for.
func (v *View) Excerpt(h Host) string {
	known, authorities, revokedKeys := v.linesFor(h)
	var text strings.Builder
	line := func(marker, name string, key ssh.PublicKey) {
		if marker != "" {
			text.WriteString("@" + marker + " ")
		}
		text.WriteString(name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n")
	}
	for _, e := range known {
		line("", h.Name, e.key)
	}
	for _, e := range authorities {
		line(certAuthority, h.Name, e.key)
	}
	for _, e := range revokedKeys {
		line(revoked, "*", e.key)
	}
	return text.String()
}
