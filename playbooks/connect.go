package playbooks

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/transport"
)

// Connect says how hosts are reached. What the command line gives wins over the
// inventory, and that over the defaults.
type Connect struct {
	User          string
	LocalUser     string // who runs this: the login name if nothing gives another
	PrivateKeys   []string
	KnownHosts    []string
	HostKeys      transport.HostKeyPolicy
	HostKeysGiven bool          // by the command line, so that the inventory has no say
	Timeout       time.Duration // for connecting and logging in; 0 if the command line gave none
	Become        bool
	BecomeUser    string
	Warn          func(text string)
}

func (c Connect) warn(text string) {
	if c.Warn != nil {
		c.Warn(text)
	}
}

// become decides whether and as whom the host program runs in a play.
func (c Connect) become(play *manifest.Play, conn inventory.Connection) *transport.Become {
	wanted := c.Become || conn.Become
	user, method := cmp.Or(c.BecomeUser, conn.BecomeUser), conn.BecomeMethod
	if play != nil {
		if play.Become != nil {
			wanted = *play.Become || c.Become
		}
		user, method = cmp.Or(c.BecomeUser, play.BecomeUser, conn.BecomeUser), cmp.Or(play.BecomeMethod, method)
	}
	if !wanted {
		return nil
	}
	return &transport.Become{Method: cmp.Or(method, "sudo"), User: cmp.Or(user, "root")}
}

// target says how to reach a host of the inventory.
func (c Connect) target(inv *inventory.Inventory, h *inventory.Host) (transport.Target, error) {
	conn := h.Connection()
	t := c.hop(h.Name, conn)
	for _, hop := range splitList(conn.Jump) {
		jump, err := c.jump(inv, hop)
		if err != nil {
			return t, fmt.Errorf("%s: %w", conn.Pos["jump"], err)
		}
		t.Jump = append(t.Jump, jump)
	}
	return t, nil
}

// login is the user to log in as.
func (c Connect) login(conn inventory.Connection) string {
	return cmp.Or(c.User, conn.User, c.LocalUser)
}

// hop is a target without its jump hosts.
func (c Connect) hop(name string, conn inventory.Connection) transport.Target {
	t := transport.Target{
		Host:           name,
		Address:        conn.Address,
		Port:           conn.Port,
		User:           c.login(conn),
		PrivateKeys:    firstList(c.PrivateKeys, conn.PrivateKeys),
		KnownHosts:     firstList(c.KnownHosts, conn.KnownHosts),
		HostKeys:       c.HostKeys,
		ConnectTimeout: cmp.Or(c.Timeout, conn.ConnectTimeout),
	}
	if !c.HostKeysGiven && conn.HostKeyChecking == "accept-new" {
		t.HostKeys = transport.AcceptNew
	}
	return t
}

// jump reads [user@]host[:port]. A host of the inventory is reached as the
// inventory says.
func (c Connect) jump(inv *inventory.Inventory, hop string) (transport.Target, error) {
	userName, address, found := strings.Cut(hop, "@")
	if !found {
		userName, address = "", hop
	}
	if h := inv.Host(address); h != nil {
		conn := h.Connection()
		if conn.Jump != "" {
			return transport.Target{}, fmt.Errorf("jump host %s has a jump host of its own; write the whole chain, with commas, outermost first", address)
		}
		t := c.hop(h.Name, conn)
		t.User = cmp.Or(userName, t.User)
		return t, nil
	}
	conn := inventory.Connection{Address: address, User: userName}
	if i := strings.LastIndexByte(address, ':'); i > 0 && strings.Count(address, ":") == 1 || strings.HasPrefix(address, "[") && strings.Contains(address, "]:") {
		port, err := strconv.Atoi(address[i+1:])
		if err != nil || port < 1 || port > 65535 {
			return transport.Target{}, fmt.Errorf("jump host %q: %q is no port", hop, address[i+1:])
		}
		conn.Address, conn.Port = strings.Trim(address[:i], "[]"), port
	}
	t := c.hop(address, conn)
	t.User = cmp.Or(userName, t.User) // what the jump says of itself, not -u
	return t, nil
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func firstList(lists ...[]string) []string {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}
