package inventory

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// isSecretKey reports whether the value of a key of a connection is a secret.
func isSecretKey(key string) bool { return key == "password" || key == "become_password" }

// isSecretVariable reports whether an Ansible variable is a password. Such a
// variable is read into the connection and is then no variable any more.
func isSecretVariable(name string) bool {
	return strings.HasPrefix(name, "ansible_") && isSecretKey(connectionKey(name))
}

// without gives n, a map, without some of its entries.
func without(n *yamlpos.Node, leaveOut func(key string) bool) *yamlpos.Node {
	isOut := func(p yamlpos.Pair) bool { return leaveOut(p.Key.Text) }
	if !slices.ContainsFunc(n.Pairs, isOut) {
		return n
	}
	rest := *n
	rest.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), isOut)
	return &rest
}

// secretSetting reads a password. No error has its text.
func (b *builder) secretSetting(r rank, name, key string, n *yamlpos.Node) (setting, bool) {
	if err := checkSecret(name, n); err != nil {
		b.errs.Add(err)
		return setting{}, false
	}
	text := n.Text
	set := func(c *Connection) { c.Password = text }
	if key == "become_password" {
		set = func(c *Connection) { c.BecomePassword = text }
	}
	place := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column}
	return setting{name, r, place, []field{{key: key, set: set}}}, true
}

func checkSecret(name string, n *yamlpos.Node) error {
	switch {
	case n.Kind != yamlpos.Scalar:
		return n.Errorf("", "%s must be a single value", name)
	case n.Text == "":
		return n.Errorf("remove it, or leave the value away to take one away", "%s is empty", name)
	case strings.Contains(n.Text, "{{") && !n.Plain:
		return n.Errorf(`connection values are read before anything is evaluated; in YAML !unsafe before a password makes it mean itself, passwords can be asked for with -k and -K, and a second -i SCRIPT may print those of a group, such as {"db":{"vars":{"ansible_become_password":"…"}}} (from ansible-vault view, say)`, "%s cannot be an expression", name)
	case strings.ContainsFunc(n.Text, unicode.IsControl):
		return n.Errorf("", "%s has a control character", name)
	}
	if _, isText := n.Value.(string); !isText && yamlpos.From(n, n.Value).Text != n.Text {
		return n.Errorf("quote it, on a line of an INI inventory twice: '\"…\"'", "%s is not read as text, but as a number or a boolean that is written another way", name)
	}
	return nil
}

// Format withholds the passwords of a connection, however it is printed.
func (c Connection) Format(f fmt.State, verb rune) {
	type plain Connection
	if c.Password != "" {
		c.Password = withheld
	}
	if c.BecomePassword != "" {
		c.BecomePassword = withheld
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(c))
}

const withheld = "(secret)"
