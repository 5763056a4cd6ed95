package playbooks

import (
	"cmp"
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
func (c Connect) target(inv *inventory.Inventory, h *inventory.Host) transport.Target {
	conn := h.Connection()
	t := c.direct(h.Name, conn)
	for _, hop := range conn.Jump {
		t.Jump = append(t.Jump, c.jump(inv, hop))
	}
	return t
}

// login is the user to log in as.
func (c Connect) login(conn inventory.Connection) string {
	return cmp.Or(c.User, conn.User, c.LocalUser)
}

// direct is a target without its jump hosts.
func (c Connect) direct(name string, conn inventory.Connection) transport.Target {
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

// jump is a hop of the way to a target. A host of the inventory is reached as
// the inventory says. What the hop says of itself counts more, also than -u.
func (c Connect) jump(inv *inventory.Inventory, hop inventory.Hop) transport.Target {
	conn, name := inventory.Connection{Address: hop.Host}, hop.Place()
	if h := inv.Host(hop.Host); h != nil {
		conn, name = h.Connection(), h.Name
	}
	t := c.direct(name, conn)
	t.User, t.Port = cmp.Or(hop.User, t.User), cmp.Or(hop.Port, t.Port)
	return t
}

func firstList(lists ...[]string) []string {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}
