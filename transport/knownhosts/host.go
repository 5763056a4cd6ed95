package knownhosts

import (
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// A Host is what a host is called.
type Host struct {
	Name      string // by known_hosts: a [NormalName] in lower case, or an alias
	Principal string // by its certificate
	Hidden    bool   // its name is hashed in lines that are added
}

// Line is a line for known_hosts, without its end.
func (h Host) Line(key ssh.PublicKey) string {
	name := h.Name
	if h.Hidden {
		name = knownhosts.HashHostname(name)
	}
	return name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// NormalName is what known_hosts calls an address: host, or [host]:port if there is
// a port and it is not 22. (x/crypto/ssh/knownhosts puts IPv6 addresses without a
// port in brackets, which OpenSSH does not find.)
func NormalName(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err == nil && port != "22":
		return "[" + host + "]:" + port
	case err == nil:
		return host
	case strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]"):
		return address[1 : len(address)-1]
	}
	return address
}
