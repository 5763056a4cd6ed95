package playbooks

import (
	"cmp"
	"context"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

// Connect says how hosts are reached. What the command line gives wins over the
// inventory, and that over the defaults.
type Connect struct {
	User          string
	LocalUser     string // who runs this: the login name if nothing gives another
	PrivateKeys   []string
	KnownHosts    []string
	HostKeys      transport.HostKeyPolicy
	HostKeysGiven bool             // by the command line, so that the inventory has no say
	Timeout       time.Duration    // for connecting and logging in; 0 if the command line gave none
	Limits        transport.Limits // the same for each phase, over Timeout
	Become        bool
	BecomeUser    string
	BecomeMethod  string // "sudo", "su" or "doas"; "" leaves it to the play or the inventory
	// Password logs in to the hosts themselves; what lies on the way to them is not
	// told it. BecomePassword is for the escalation. nil leaves it to the inventory.
	Password, BecomePassword *transport.Secret
	// Passphrase asks for the passphrase of a key file, again if what it gave was
	// wrong; nil, as a function or an answer, leaves the file alone.
	Passphrase func(ctx context.Context, path string, again bool) (*transport.Secret, error)
	// SSH is ssh_config(5) as this machine has it, for what neither the command line
	// nor the inventory says; nil has none.
	SSH          *sshconfig.Config
	RetriesGiven bool // by the command line, so that ssh_config has no say
	// Warn is told the same of ssh_config for each host that it concerns.
	Warn func(text string)
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
	return &transport.Become{
		Method: cmp.Or(c.BecomeMethod, method, "sudo"), User: cmp.Or(user, "root"), Password: c.becomePassword(conn),
	}
}

// becomePassword is nil if there is none.
func (c Connect) becomePassword(conn inventory.Connection) *transport.Secret {
	if c.BecomePassword == nil && conn.BecomePassword != "" {
		return transport.NewSecret([]byte(conn.BecomePassword))
	}
	return c.BecomePassword
}

// login is the user to log in as.
func (c Connect) login(conn inventory.Connection) string {
	if conn.Local {
		return c.LocalUser
	}
	if user := cmp.Or(c.User, conn.User); user != "" {
		return user
	}
	settings, err := c.resolve(conn, "")
	if err != nil { // which target reports
		return c.LocalUser
	}
	return cmp.Or(settings.Text(sshconfig.User), c.LocalUser)
}
