package transport

import (
	"cmp"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// A Target describes where a host is and how to log in.
type Target struct {
	Host    string // inventory name, for errors; never looked up
	Address string // name or IP address, to dial and to look up in known_hosts
	Port    int    // 0 means 22
	User    string
	// Local means the controller itself: no connection is opened, and /bin/sh runs command lines as the user of this
	// process.
	Local bool
	// PrivateKeys are files, offered in this order and before the keys of the agent. An encrypted file means the
	// agent's copy of its key. Empty means the agent's keys, then the existing files of ~/.ssh/id_ed25519, id_ecdsa and
	// id_rsa.
	PrivateKeys []string
	// PrivateKeysOptional makes a missing or unusable file of PrivateKeys a remark instead of an error, as ssh(1)
	// treats its IdentityFiles. If only FILE.pub exists, it means the agent's copy of its key.
	PrivateKeysOptional bool
	// Certificates are files with OpenSSH certificates, each for one of the keys. A certificate next to its private key
	// (KEY-cert.pub) need not be listed.
	Certificates []string
	// IdentitiesOnly offers only the keys of PrivateKeys, or of the default files; the agent may still sign with them.
	IdentitiesOnly bool
	// Agent is the path of the agent's socket; "" means the dialer's, "none" means no agent.
	Agent string
	// Password is for password and keyboard-interactive authentication; nil has
	// none.
	Password *Secret
	// Methods are the ways to authenticate, in order of preference, by the names of
	// RFC 4252: publickey, keyboard-interactive, password. nil means these three in
	// this order.
	Methods []string
	// KnownHosts are files; missing ones are empty, and keys are added to the first. Empty means ~/.ssh/known_hosts
	// and, unless GlobalKnownHosts is set, /etc/ssh/ssh_known_hosts.
	KnownHosts []string
	// GlobalKnownHosts are more such files, which are read and never written.
	GlobalKnownHosts []string
	// RevokedHostKeys is a file of public keys, one a line, that no host may have
	// (ssh_config(5)). It must be readable if it is given.
	RevokedHostKeys string
	HostKeys        HostKeyPolicy // the zero value refuses unknown keys
	// HostKeyAlias is looked up in known_hosts in place of the address.
	HostKeyAlias string
	// KnownAt is the address and port, for package net, under which known_hosts has the host, if it
	// is dialled at another one; "" is [Target.Addr].
	KnownAt string
	// HashKnownHosts hides the names of the hosts that AcceptNew adds.
	HashKnownHosts bool
	Algorithms     Algorithms
	// AddressFamily is "inet" or "inet6"; "" takes both.
	AddressFamily string
	// BindAddress is the local address to dial from; "" leaves it to the system.
	BindAddress string
	// ProxyCommand is a command whose standard input and output are the
	// connection, run by the operator's own shell; "" dials TCP. It comes from the
	// operator's own ssh_config only, with its tokens already replaced.
	ProxyCommand string
	// Keepalive is the interval of keepalive@openssh.com requests, and KeepaliveCount the number of intervals without
	// an answer that are allowed; 0 means the Dialer's.
	Keepalive      time.Duration
	KeepaliveCount int
	// Retries is the number of further dials after a failure; 0 means the Dialer's.
	Retries int
	Limits  Limits   // a zero field means the dialer's
	Jump    []Target // jump hosts in order, outermost first; each is verified and authenticated itself
}

// Algorithms restrict the negotiation, in order of preference, by the names of RFC 4253. nil means the defaults of
// x/crypto.
type Algorithms struct {
	KeyExchanges, Ciphers, MACs, HostKeys, PublicKeys []string
	// HostKeysInAnyOrder makes HostKeys a set: algorithms of keys in known_hosts come first, as with ssh unless a whole
	// list is configured.
	HostKeysInAnyOrder bool
}

// Limits bound the phases of getting into a host.
type Limits struct {
	Dial      time.Duration // TCP connection, for each attempt
	Handshake time.Duration // until the keys are exchanged
	Auth      time.Duration // login, without the time of Sign
	Sign      time.Duration // while an agent signs, which may wait for a person to confirm it
}

// HostKeyPolicy decides about hosts with unknown keys.
type HostKeyPolicy int

// A key that has changed or is revoked is refused by every policy.
const (
	Strict    HostKeyPolicy = iota // an unknown key is refused
	AcceptNew                      // an unknown key is added to the first KnownHosts file
)

const defaultPort = 22

// TCPPort is the port that is dialled.
func (t Target) TCPPort() int { return cmp.Or(t.Port, defaultPort) }

// Addr is the address and port that are dialled, for package net; "local" is the
// controller itself.
func (t Target) Addr() string {
	if t.Local {
		return "local"
	}
	return net.JoinHostPort(t.Address, strconv.Itoa(t.TCPPort()))
}

// Login names the account: user@address:port.
func (t Target) Login() string { return t.User + "@" + t.Addr() }

// SSHCommand returns the ssh command line with which a person logs in to the host.
func (t Target) SSHCommand() string {
	if t.Local {
		return "/bin/sh -c"
	}
	words := []string{"ssh"}
	if len(t.Jump) > 0 {
		words = append(words, "-J", ShellWord(strings.ReplaceAll(LoginsOf(t.Jump), " ", ",")))
	}
	if t.TCPPort() != defaultPort {
		words = append(words, "-p", strconv.Itoa(t.TCPPort()))
	}
	return strings.Join(append(words, ShellWord(t.User+"@"+t.Address)), " ")
}

// Fail is the error of a step for this host.
func (t Target) Fail(op string, err error, hint string) *HostError {
	return &HostError{Host: t.Host, Op: op, Addr: t.Addr(), Err: err, Hint: hint}
}

// ExpandHome replaces a leading ~/ by home.
func ExpandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// LoginsOf names the accounts on a route, separated by blanks.
func LoginsOf(jumpHosts []Target) string {
	logins := make([]string, len(jumpHosts))
	for i, h := range jumpHosts {
		logins[i] = h.Login()
	}
	return strings.Join(logins, " ")
}

// GlobalKnownHosts is the file that OpenSSH reads for all users.
const GlobalKnownHosts = "/etc/ssh/ssh_known_hosts"

// KnownHostsFiles are the files that count for the host.
func (t Target) KnownHostsFiles(home string) knownhosts.Files {
	paths, global := t.KnownHosts, t.GlobalKnownHosts
	if len(paths) == 0 {
		if home != "" {
			paths = []string{filepath.Join(home, ".ssh/known_hosts")}
		}
		if global == nil {
			global = []string{GlobalKnownHosts}
		}
	}
	var files knownhosts.Files
	for _, f := range slices.Concat(paths, global) {
		files.Read = append(files.Read, ExpandHome(f, home))
	}
	if len(paths) > 0 {
		files.AddTo = files.Read[0]
	}
	files.Revoked = ExpandHome(t.RevokedHostKeys, home)
	return files
}

// KnownHost returns the names of the host in known_hosts and certificates: its alias, which has no port, or its
// address, in known_hosts with a port other than 22.
func (t Target) KnownHost() knownhosts.Host {
	h := knownhosts.Host{Name: knownhosts.NormalName(t.Addr()), Principal: t.Address, Hidden: t.HashKnownHosts}
	if t.KnownAt != "" {
		h.Name = knownhosts.NormalName(t.KnownAt)
		h.Principal, _, _ = net.SplitHostPort(t.KnownAt)
	}
	if t.HostKeyAlias != "" {
		h.Name, h.Principal = t.HostKeyAlias, t.HostKeyAlias
	}
	h.Name = strings.ToLower(h.Name)
	return h
}

// KnownName returns the name of the host in known_hosts: its alias, or its address, as [address]:port if the port is
// not 22.
func (t Target) KnownName() string { return t.KnownHost().Name }
