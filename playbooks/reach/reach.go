package reach

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

// A Reached is a host with how it is reached, setting by setting.
type Reached struct {
	Host     string // inventory name, or a jump host as it is written
	Settings []Reason
	Jump     []Reached // outermost first
	// Refused are why it is not reached at all, sorted by position; there is then
	// nothing else.
	Refused yamlpos.Errors
}

// A Reason is a setting of a connection, and where it is from.
type Reason struct {
	Setting string
	Values  []string
	// Origin is a place (file:line, file:line:column), "command line: FLAG", or
	// "default".
	Origin string
}

const byDefault = "default"

// hostSettings collects the settings for one host. The precedence is: command line, inventory, ssh_config, default.
type hostSettings struct {
	opts    Options
	conn    inventory.Connection
	ssh     *sshconfig.Settings
	target  transport.Target
	reasons *[]Reason // nil unless they are wanted
}

// A jump is a host on the route with the settings that the route itself has: they override all other settings of that
// host. at is the place that names it.
type jump struct {
	inventory.JumpHost
	at string
}

// from is a possible value of a setting, with its origin; the zero value means unset.
type from[T comparable] struct {
	value  T
	origin string
}

// first returns the first value that is set.
func first[T comparable](r *hostSettings, setting string, list ...from[T]) T {
	var none T
	for _, f := range list {
		if f.value != none {
			r.note(setting, f.origin, fmt.Sprint(f.value))
			return f.value
		}
	}
	return none
}

func (r *hostSettings) note(setting, origin string, values ...string) {
	if r.reasons != nil {
		*r.reasons = append(*r.reasons, Reason{setting, values, origin})
	}
}

// option returns the value of an option of ssh_config, with its origin.
func (r *hostSettings) option(o sshconfig.Option) from[string] {
	return from[string]{r.ssh.Text(o), r.ssh.Origin(o)}
}

// yes reports whether a flag of ssh_config is set; the default is no.
func (r *hostSettings) yes(setting string, o sshconfig.Option) bool {
	return first(r, setting, r.option(o)) == "yes"
}

// resolve returns ssh_config's settings for a host. The name to look up is its address, as Ansible passes it to ssh.
func (o Options) resolve(conn inventory.Connection, user string) (*sshconfig.Settings, error) {
	config := o.SSH
	if config == nil {
		config = &sshconfig.Config{}
	}
	q := sshconfig.Query{Host: conn.Address, User: user, Port: conn.Port}
	for _, one := range conn.Options {
		q.Given = append(q.Given, sshconfig.Given{Name: one.Name, Value: one.Value, At: one.Pos})
	}
	return config.Resolve(q)
}

// settings returns the settings for a host, without the route to it.
func (o Options) settings(name string, conn inventory.Connection, as jump, reasons *[]Reason) (*hostSettings, error) {
	r := &hostSettings{opts: o, conn: conn, reasons: reasons, target: transport.Target{Host: name, Local: conn.Local}}
	if conn.Local {
		r.target.Address, r.target.User = conn.Address, o.LocalUser
		r.note("connection", conn.Pos["connection"], "local")
		return r, nil
	}
	asked := conn
	asked.Port = cmp.Or(as.Port, conn.Port)
	var err error
	if r.ssh, err = o.resolve(asked, cmp.Or(as.User, o.User, conn.User)); err != nil {
		return nil, err
	}
	for _, w := range r.ssh.Warnings() {
		o.warn(w)
	}
	if conn.Relay != "" {
		r.note("relay", conn.Pos["relay"], conn.Relay)
	}
	r.place(as)
	r.keys()
	r.hostKeys()
	r.times()
	return r, r.negotiation()
}

// place sets the address of the host and the login user.
func (r *hostSettings) place(as jump) {
	t, conn := &r.target, r.conn
	t.Address = first(r, "address", r.option(sshconfig.HostName), from[string]{r.ssh.Host(), cmp.Or(conn.Pos["address"], byDefault)})
	port := first(r, "port", from[string]{decimal(as.Port), as.at}, from[string]{decimal(conn.Port), conn.Pos["port"]},
		r.option(sshconfig.Port), from[string]{"22", byDefault})
	if t.Port, _ = strconv.Atoi(port); t.Port == 22 && conn.Port == 0 && as.Port == 0 {
		t.Port = 0 // so that a target has nothing but what differs from its defaults
	}
	t.User = first(r, "user", from[string]{as.User, as.at}, from[string]{r.opts.User, "command line: -u"},
		from[string]{conn.User, conn.Pos["user"]}, r.option(sshconfig.User), from[string]{r.opts.LocalUser, byDefault})
	if family := first(r, "address_family", r.option(sshconfig.AddressFamily)); family != "any" {
		t.AddressFamily = family
	}
	t.BindAddress = first(r, "bind_address", r.option(sshconfig.BindAddress))
}

func decimal(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// keys sets the keys and passwords to offer to the host.
func (r *hostSettings) keys() {
	t := &r.target
	switch files := r.ssh.Values(sshconfig.IdentityFile); {
	case len(r.opts.PrivateKeys) > 0:
		t.PrivateKeys = r.opts.PrivateKeys
		r.note("private_key", "command line: --private-key", t.PrivateKeys...)
	case len(r.conn.PrivateKeys) > 0:
		t.PrivateKeys = r.conn.PrivateKeys
		r.note("private_key", r.conn.Pos["private_key"], t.PrivateKeys...)
	case len(files) > 0:
		t.PrivateKeys, t.PrivateKeysOptional = files, true
		r.noteEach("private_key", sshconfig.IdentityFile)
	default:
		r.note("private_key", byDefault, "the agent's keys", "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
	}
	t.Certificates = r.ssh.Values(sshconfig.CertificateFile)
	r.noteEach("certificate", sshconfig.CertificateFile)
	t.IdentitiesOnly = r.yes("identities_only", sshconfig.IdentitiesOnly)
	if agent := first(r, "agent", r.option(sshconfig.IdentityAgent)); agent != "SSH_AUTH_SOCK" {
		t.Agent = agent
	}
	if p := passwordOf(r.conn.Password, r.conn.SealedPassword); p != nil { // the command line's password is for the host itself; target overrides this one
		t.Password = p
		r.note("password", r.conn.Pos["password"], fmt.Sprint(t.Password))
	}
}

// noteEach notes values that may be from several places.
func (r *hostSettings) noteEach(setting string, o sshconfig.Option) {
	if set := r.ssh.Setting(o); set != nil {
		for i, v := range set.Values {
			r.note(setting, set.Origins[i], v)
		}
	}
}

// hostKeys sets how the host proves its identity.
func (r *hostSettings) hostKeys() {
	t := &r.target
	r.knownHosts()
	wanted := r.option(sshconfig.StrictHostKeyChecking)
	switch wanted.value {
	case "no":
		r.opts.warn(fmt.Sprintf("%s: StrictHostKeyChecking no is ignored, because ccm-push always verifies host keys", wanted.origin))
		wanted.value = "yes"
	case "ask": // a run has no prompts for it
		wanted.value = "yes"
	}
	checking := first(r, "host_key_checking", r.givenChecking(), from[string]{r.conn.HostKeyChecking, r.conn.Pos["host_key_checking"]},
		wanted, from[string]{"yes", byDefault})
	if checking == "accept-new" {
		t.HostKeys = transport.AcceptNew
	}
	t.HostKeyAlias = first(r, "host_key_alias", r.option(sshconfig.HostKeyAlias))
	t.HashKnownHosts = r.yes("hash_known_hosts", sshconfig.HashKnownHosts)
	t.RevokedHostKeys = first(r, "revoked_host_keys", r.option(sshconfig.RevokedHostKeys))
}

func (r *hostSettings) givenChecking() from[string] {
	switch {
	case !r.opts.HostKeysGiven:
		return from[string]{}
	case r.opts.HostKeys == transport.AcceptNew:
		return from[string]{"accept-new", "command line: --host-key-checking"}
	}
	return from[string]{"yes", "command line: --host-key-checking"}
}

func (r *hostSettings) knownHosts() {
	t := &r.target
	switch {
	case len(r.opts.KnownHosts) > 0:
		t.KnownHosts = r.opts.KnownHosts
		r.note("known_hosts", "command line: --known-hosts", t.KnownHosts...)
		return
	case len(r.conn.KnownHosts) > 0:
		t.KnownHosts = r.conn.KnownHosts
		r.note("known_hosts", r.conn.Pos["known_hosts"], t.KnownHosts...)
		return
	}
	files := r.ssh.Values(sshconfig.UserKnownHostsFile)
	if len(files) > 0 && !isNone(files) {
		t.KnownHosts = files
		r.noteEach("known_hosts", sshconfig.UserKnownHostsFile)
	} else {
		if len(files) > 0 {
			r.opts.warn(fmt.Sprintf("%s: UserKnownHostsFile %s is ignored, because ccm-push always verifies host keys, here with the default known_hosts files", r.ssh.Origin(sshconfig.UserKnownHostsFile), files[0]))
		}
		r.note("known_hosts", byDefault, "~/.ssh/known_hosts")
	}
	switch global := r.ssh.Values(sshconfig.GlobalKnownHostsFile); {
	case len(global) > 0 && isNone(global):
		t.GlobalKnownHosts = []string{}
		r.note("global_known_hosts", r.ssh.Origin(sshconfig.GlobalKnownHostsFile), "none")
	case len(global) > 0:
		t.GlobalKnownHosts = global
		r.noteEach("global_known_hosts", sshconfig.GlobalKnownHostsFile)
	default:
		r.note("global_known_hosts", byDefault, transport.GlobalKnownHosts)
		if len(t.KnownHosts) > 0 { // which would otherwise be all
			t.GlobalKnownHosts = []string{transport.GlobalKnownHosts}
		}
	}
}

// isNone reports whether a list of known_hosts files means none, in any spelling.
func isNone(files []string) bool {
	return strings.EqualFold(files[0], "none") || filepath.Clean(files[0]) == os.DevNull
}

// times bound the waiting.
func (r *hostSettings) times() {
	t := &r.target
	inventoryTime, sshTime := r.conn.ConnectTimeout, r.seconds(sshconfig.ConnectTimeout)
	all := []from[time.Duration]{
		{r.opts.Timeout, "command line: --timeout"}, {inventoryTime, r.conn.Pos["connect_timeout"]}, {sshTime, r.ssh.Origin(sshconfig.ConnectTimeout)},
	}
	const deadline = "command line: --deadline"
	t.Limits.Dial = first(r, "dial_timeout", append([]from[time.Duration]{{r.opts.Limits.Dial, deadline}}, all...)...)
	t.Limits.Handshake = first(r, "handshake_timeout", append([]from[time.Duration]{{r.opts.Limits.Handshake, deadline}}, all...)...)
	// Unlike -T, ConnectTimeout does not limit the login: so it is with ssh.
	t.Limits.Auth = first(r, "auth_timeout", from[time.Duration]{r.opts.Limits.Auth, deadline}, all[0])
	t.Limits.Sign = r.opts.Limits.Auth // -T limits hosts, not a person who confirms a signature
	t.Keepalive = first(r, "keepalive", from[time.Duration]{r.seconds(sshconfig.ServerAliveInterval), r.ssh.Origin(sshconfig.ServerAliveInterval)})
	count, _ := strconv.Atoi(r.ssh.Text(sshconfig.ServerAliveCountMax))
	t.KeepaliveCount = first(r, "keepalive_count", from[int]{count, r.ssh.Origin(sshconfig.ServerAliveCountMax)})
	if !r.opts.RetriesGiven {
		t.Retries = retries(first(r, "connection_attempts", r.option(sshconfig.ConnectionAttempts)))
	}
}

func (r *hostSettings) seconds(o sshconfig.Option) time.Duration {
	n, _ := strconv.Atoi(r.ssh.Text(o)) // a number, or nothing
	return time.Duration(n) * time.Second
}

// retries returns the Retries of a Target for ConnectionAttempts; -1 means none.
func retries(attempts string) int {
	switch n, _ := strconv.Atoi(attempts); {
	case attempts == "":
		return 0
	case n <= 1:
		return -1
	default:
		return n - 1
	}
}

// becomes records the user of the host program, unless a play sets another one.
func (r *hostSettings) becomes() {
	conn := r.conn
	become := first(r, "become", from[bool]{r.opts.Become, "command line: -b"}, from[bool]{conn.Become, conn.Pos["become"]})
	if !become {
		return
	}
	first(r, "become_user", from[string]{r.opts.BecomeUser, "command line: --become-user"}, from[string]{conn.BecomeUser, conn.Pos["become_user"]}, from[string]{"root", byDefault})
	first(r, "become_method", from[string]{r.opts.BecomeMethod, "command line: --become-method"}, from[string]{conn.BecomeMethod, conn.Pos["become_method"]}, from[string]{"sudo", byDefault})
	switch {
	case r.opts.BecomePassword != nil:
		r.note("become_password", "command line: -K", fmt.Sprint(r.opts.BecomePassword))
	case conn.Pos["become_password"] != "":
		r.note("become_password", conn.Pos["become_password"], fmt.Sprint(r.opts.PasswordToBecome(conn)))
	}
}
