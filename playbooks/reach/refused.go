package reach

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Refused gives why a host must not be dialled: what the inventory says of it, or of
// the jump hosts before it, that cannot be honoured, unless the command line says
// something else in its place. conn is what the inventory says of the host.
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

// refusals gives the errors of settings that matter for how the host is reached, unless
// something else decides in their place.
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

// decides reports whether the command line says what counts instead of a setting of
// the inventory.
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

// decidesOn is decides for a jump host: the password is not for it, and the host
// program does not run there. What the route says of the jump host counts most.
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
