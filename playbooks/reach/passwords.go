package reach

import (
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/transport"
)

// passwordOf returns a password of the inventory, or nil. A sealed one is opened at its first use;
// [Options.SealedPasswords] lists them, so that the caller can check them first.
func passwordOf(text string, sealed *yamlpos.Node) *transport.Secret {
	switch {
	case sealed != nil:
		return transport.NewLazySecret(func() []byte {
			text, _ := sealed.Open()
			return []byte(text)
		})
	case text != "":
		return transport.NewSecret([]byte(text))
	}
	return nil
}

// SealedPasswords returns the sealed passwords that reaching a host needs: its own, and the passwords of its jump
// hosts. conn has the inventory's settings of the host.
func (o Options) SealedPasswords(inv *inventory.Inventory, conn inventory.Connection) (sealed []*yamlpos.Node) {
	add := func(n *yamlpos.Node, decided bool) {
		if n != nil && !decided {
			sealed = append(sealed, n)
		}
	}
	add(conn.SealedPassword, conn.Local || o.Password != nil)
	add(conn.SealedBecome, o.BecomePassword != nil)
	for _, jump := range conn.Jump {
		if next := inv.Host(jump.Host); next != nil && !conn.Local {
			add(next.Connection().SealedPassword, false)
		}
	}
	return sealed
}

// CheckSealed opens a password, and returns its fault.
func CheckSealed(n *yamlpos.Node) error {
	switch text, err := n.Open(); {
	case err != nil:
		return err
	case text == "":
		return n.Errorf("", "the password is empty")
	case strings.ContainsAny(text, "\n\r\x00"):
		return n.Errorf("encrypt the password without a newline: pass it to ansible-vault encrypt_string as an argument, or with printf instead of echo", "the password has the end of a line in it")
	}
	return nil
}
