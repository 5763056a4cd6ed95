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

// Options are the command line's settings for all hosts, which override the inventory. The zero value sets nothing.
type Options struct {
	User          string
	LocalUser     string // local user: the default login name
	PrivateKeys   []string
	KnownHosts    []string
	HostKeys      transport.HostKeyPolicy
	HostKeysGiven bool             // set by the command line, which overrides the inventory
	Timeout       time.Duration    // limit for connecting, and again for logging in; 0 if the command line does not set it
	Limits        transport.Limits // the same for each phase, over Timeout
	Become        bool
	BecomeUser    string
	BecomeMethod  string // "sudo", "su" or "doas"; "" leaves it to the play or the inventory
	// Password logs in to the hosts themselves; jump hosts never receive it. BecomePassword is for the escalation. With
	// nil, the inventory decides.
	Password, BecomePassword *transport.Secret
	// Passphrase returns the passphrase of a key file, with again after a wrong one. A nil function or result skips the
	// file.
	Passphrase func(ctx context.Context, path string, again bool) (*transport.Secret, error)
	// SSH is this machine's ssh_config(5), for settings that neither the command line nor the inventory has; nil means
	// none.
	SSH          *sshconfig.Config
	RetriesGiven bool // set by the command line, which overrides ssh_config
	// Warn receives a warning about ssh_config for each host that it concerns.
	Warn func(text string)
}

func (o Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// An Escalation has the settings of a play; the zero value sets nothing.
type Escalation struct {
	Become *bool // nil leaves it to the command line and the inventory
	User   string
	Method string // "sudo", "su" or "doas"
}

// Escalate returns the user and method of the host program; nil means the login user.
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

// PasswordToBecome returns the password of the escalation, or nil.
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
