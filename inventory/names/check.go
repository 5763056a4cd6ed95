package names

import (
	"net/netip"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// CheckText refuses keys that YAML does not read as text, such as 12 or true. what
// is what they would name: "host".
func CheckText(key *yamlpos.Node, what string) error {
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

// CheckGroup refuses what cannot be the name of a group.
func CheckGroup(key *yamlpos.Node) error {
	if err := CheckText(key, "group"); err != nil {
		return err
	}
	if !nodeset.IsName(key.Text) || strings.Contains(key.Text, ":") {
		return key.Errorf(nodeset.NameHint, "%q cannot be a group name", key.Text)
	}
	return nil
}

// CheckHost accepts names and addresses. A colon makes sense in IPv6 addresses
// only. key is where the name comes from, which may stand for others too.
func CheckHost(key *yamlpos.Node, name string) error {
	switch {
	case !nodeset.IsName(name):
		return key.Errorf(nodeset.NameHint, "%q cannot be a host name", name)
	case !IsHost(name):
		return key.Errorf("a colon stands in IPv6 addresses, or before a port from 1 to 65535", "%q cannot be a host name", name)
	}
	return nil
}

// IsHost reports whether s is a name, or an address, without brackets and port.
func IsHost(s string) bool {
	return nodeset.IsName(s) && (!strings.Contains(s, ":") || isIPv6(s))
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}
