package reach

import (
	"cmp"
	"context"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
	"github.com/ccm-push/ccm-push/transport/start"
)

// Options are what the command line says of all hosts, which wins over the inventory.
// The zero value says nothing.
type Options struct {
	User          string
	LocalUser     string // who runs this: the login name if nothing gives another
	PrivateKeys   []string
	KnownHosts    []string
	HostKeys      transport.HostKeyPolicy
	HostKeysGiven bool             // by the command line, so that the inventory has no say
	Timeout       time.Duration    // for connecting, and then for logging in; 0 if the command line gave none
	Limits        transport.Limits // the same for each phase, over Timeout
	Become        bool
	BecomeUser    string
	BecomeMethod  string // "sudo", "su" or "doas"; "" leaves it to the play or the inventory
	// Password logs in to the hosts themselves; jump hosts are not told it. BecomePassword is for the escalation. nil leaves it to the inventory.
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

func (o Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// An Escalation is what a play says of it; the zero value says nothing.
type Escalation struct {
	Become *bool // nil leaves it to the command line and the inventory
	User   string
	Method string // "sudo", "su" or "doas"
}

// Escalate decides whether and as whom the host program runs; nil is as who logs in.
func (o Options) Escalate(play Escalation, conn inventory.Connection) *start.Become {
	wanted := o.Become || conn.Become
	if play.Become != nil {
		wanted = *play.Become || o.Become
	}
	if !wanted {
		return nil
	}
	return &start.Become{
		Method:   cmp.Or(o.BecomeMethod, play.Method, conn.BecomeMethod, "sudo"),
		User:     cmp.Or(o.BecomeUser, play.User, conn.BecomeUser, "root"),
		Password: o.PasswordToBecome(conn),
	}
}

// PasswordToBecome is for the escalation; nil if there is none.
func (o Options) PasswordToBecome(conn inventory.Connection) *transport.Secret {
	if o.BecomePassword != nil {
		return o.BecomePassword
	}
	return passwordOf(conn.BecomePassword, conn.SealedBecome)
}

// Login is the user to log in as.
func (o Options) Login(conn inventory.Connection) string {
	if conn.Local {
		return o.LocalUser
	}
	if user := cmp.Or(o.User, conn.User); user != "" {
		return user
	}
	settings, err := o.resolve(conn, "")
	if err != nil { // which target reports
		return o.LocalUser
	}
	return cmp.Or(settings.Text(sshconfig.User), o.LocalUser)
}
