package inventory

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

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
	if !nodeset.IsName(key.Text) || strings.Contains(key.Text, ":") {
		return key.Errorf(nodeset.NameHint, "%q cannot be a group name", key.Text)
	}
	return nil
}

// checkHostName accepts names and addresses. A colon makes sense in IPv6
// addresses only.
func checkHostName(key *yamlpos.Node, name string) error {
	if !nodeset.IsName(name) {
		return key.Errorf(nodeset.NameHint, "%q cannot be a host name", name)
	}
	if strings.Contains(name, ":") && !isIPv6(name) {
		return key.Errorf("a colon stands in IPv6 addresses, or before a port from 1 to 65535", "%q cannot be a host name", name)
	}
	return nil
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
