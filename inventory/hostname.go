package inventory

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// maxName is the longest host or group name in bytes: that of a DNS name.
const maxName = 253

const nameHint = "letters, digits and _ . - are allowed, and a name does not begin with -"

// checkKey refuses keys that YAML does not read as text, such as 12 or true.
func checkKey(key *yamlpos.Node, what string) error {
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

func checkGroupName(key *yamlpos.Node) error {
	if err := checkKey(key, "group"); err != nil {
		return err
	}
	if !isName(key.Text) || strings.Contains(key.Text, ":") {
		return key.Errorf(nameHint, "%q cannot be a group name", key.Text)
	}
	return nil
}

// checkHostName accepts names and addresses. A colon makes sense in IPv6
// addresses only.
func checkHostName(key *yamlpos.Node, name string) error {
	if !isName(name) {
		return key.Errorf(nameHint, "%q cannot be a host name", name)
	}
	if strings.Contains(name, ":") && !isIPv6(name) {
		return key.Errorf("a colon stands in IPv6 addresses, or before a port from 1 to 65535", "%q cannot be a host name", name)
	}
	return nil
}

// isName holds s to what host names, addresses and zones are made of: names end
// up in file names, known_hosts files and on terminals.
func isName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' {
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

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

var (
	bracketed = regexp.MustCompile(`^\[([^\[\]]*:[^\[\]]*)\](?::([0-9]+))?$`)
	withPort  = regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])+):([0-9]+)$`)
)

// splitPort takes a port off a host: name:22, name[1:3]:22, [2001:db8::1]:22.
// The port is "" if there is none.
func splitPort(s string) (host, port string) {
	if m := bracketed.FindStringSubmatch(s); m != nil && isIPv6(m[1]) {
		return m[1], m[2]
	}
	if m := withPort.FindStringSubmatch(s); m != nil {
		return m[1], m[2]
	}
	return s, ""
}

// atoi is -1 for what does not fit into an int.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
