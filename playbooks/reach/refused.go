package reach

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Refused returns why a host must not be dialled: settings of the inventory for it, or for its jump hosts, that are not
// supported, unless the command line overrides them. conn has the inventory's settings of the host.
func (o Options) Refused(inv *inventory.Inventory, h *inventory.Host, conn inventory.Connection) yamlpos.Errors {
	errs := refusals(conn, o.decides)
	if conn.Local {
		return errs
	}
	errs = slices.Concat(errs, inv.CheckJumps(h), inv.CheckRelays(h))
	for _, jump := range conn.Jump {
		next := inv.Host(jump.Host)
		if next == nil {
			continue
		}
		for _, err := range refusals(next.Connection(), o.decidesOn(jump)) {
			ofJump := *err
			ofJump.Msg = "jump host " + next.Name + ": " + err.Msg
			errs = append(errs, &ofJump)
		}
	}
	return errs
}

// refusals returns the errors of settings that matter for reaching the host, unless they are overridden.
func refusals(conn inventory.Connection, decided func(key string) bool) (errs yamlpos.Errors) {
	for key, refused := range conn.Refused {
		without := conn.Local && key != "connection" && !isEscalation(key) // SSH, which the setting is about
		if !without && !decided(key) {
			errs = append(errs, refused...)
		}
	}
	return errs
}

// isEscalation reports whether a key, or a variable without one, is about becoming
// another user.
func isEscalation(key string) bool {
	return strings.HasPrefix(strings.TrimPrefix(key, "ansible_"), "become")
}

// decides reports whether the command line overrides a setting of the inventory.
func (o Options) decides(key string) bool {
	switch key {
	case "user":
		return o.User != ""
	case "password":
		return o.Password != nil
	case "private_key":
		return len(o.PrivateKeys) > 0
	case "known_hosts":
		return len(o.KnownHosts) > 0
	case "host_key_checking":
		return o.HostKeysGiven
	case "connect_timeout":
		return o.Timeout > 0
	case "become":
		return o.Become
	case "become_user":
		return o.BecomeUser != ""
	case "become_method":
		return o.BecomeMethod != ""
	case "become_password":
		return o.BecomePassword != nil
	}
	return false
}

// decidesOn is decides for a jump host: the password is not for it, and the host program does not run there. The
// route's own settings of the jump host override all.
func (o Options) decidesOn(jump inventory.JumpHost) func(key string) bool {
	return func(key string) bool {
		switch {
		case key == "user" && jump.User != "", key == "port" && jump.Port != 0:
			return true
		case key == "password":
			return false
		}
		return isEscalation(key) || o.decides(key)
	}
}
