package transport

import (
	"cmp"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Target is where a host is and how to get in.
type Target struct {
	Host    string // inventory name, for errors; never looked up
	Address string // name or IP address: what is dialled and what known_hosts is asked for
	Port    int    // 0 means 22
	User    string
	// PrivateKeys are files, offered in this order and before the keys of the
	// agent. An encrypted file stands for the agent's copy of its key. Empty
	// means the agent's keys, then those of ~/.ssh/id_ed25519, id_ecdsa and
	// id_rsa that exist.
	PrivateKeys []string
	// KnownHosts are files; those that do not exist are empty. Empty means
	// ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts.
	KnownHosts []string
	HostKeys   HostKeyPolicy // the zero value refuses unknown keys
	// ConnectTimeout bounds dial, handshake and login together; 0 means that of
	// the Dialer.
	ConnectTimeout time.Duration
	Jump           []Target // hops in order, outermost first; each is verified and authenticated itself
}

// HostKeyPolicy says what becomes of a host whose key is not known.
type HostKeyPolicy int

// A key that has changed or is revoked is refused by every policy.
const (
	Strict    HostKeyPolicy = iota // an unknown key is refused
	AcceptNew                      // an unknown key is added to the first KnownHosts file
)

const defaultPort = 22

func (t Target) port() int { return cmp.Or(t.Port, defaultPort) }

func (t Target) addr() string { return net.JoinHostPort(t.Address, strconv.Itoa(t.port())) }

// login names the account: user@address:port.
func (t Target) login() string { return t.User + "@" + t.addr() }

// sshCommand is how a person gets there with ssh.
func (t Target) sshCommand() string {
	words := []string{"ssh"}
	if len(t.Jump) > 0 {
		words = append(words, "-J", shellWord(strings.ReplaceAll(wayOf(t.Jump), " ", ",")))
	}
	if t.port() != defaultPort {
		words = append(words, "-p", strconv.Itoa(t.port()))
	}
	return strings.Join(append(words, shellWord(t.User+"@"+t.Address)), " ")
}

func (t Target) fail(op string, err error, hint string) *HostError {
	return &HostError{Host: t.Host, Op: op, Addr: t.addr(), Err: err, Hint: hint}
}

// expand replaces a leading ~/ by home.
func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}
