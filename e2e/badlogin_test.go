//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// position matches the position of the key in the inventory of a server, which
// depends on the length of a port.
var position = regexp.MustCompile(`hosts\.yaml:4:[0-9]+:`)

// TestBadLogins has hosts that cannot be reached, and a login that is refused,
// with OpenSSH at the other end.
func TestBadLogins(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "DenyUsers nobody\n")
	s.keygen(t, "unauthorized", "-t", "ed25519")
	s.keygen(t, "locked", "-t", "ed25519")
	output(t, "ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", s.path("locked"))
	at := fmt.Sprintf("127.0.0.1:%d", s.port)
	unreachable := func(addr, text, cause string) string {
		return fmt.Sprintf("web1  unreachable  %s\nweb1: 0 changed, 0 stable (unreachable: %s, TIME)\n1 host: 0 ok, 1 unreachable; TIME\n", strings.ReplaceAll(text, "AT", addr), cause)
	}
	refused := func(offered, user string) string {
		return unreachable(at, "authenticate AT: authentication refused: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain\n"+
			"    hint: ccm-push offered these keys for the user "+user+": "+offered+"; check authorized_keys of this user on the host; the host accepts a password; to enter it, pass -k", "authentication refused")
	}
	closed := freePort(t)

	for _, test := range []struct {
		name string
		port int
		key  string
		args []string
		code int
		want string
	}{
		{name: "wrong user", port: s.port, key: "id", args: []string{"-u", "nobody"}, code: 4, want: refused("id", "nobody")},
		{name: "a key that is not authorized", port: s.port, key: "unauthorized", code: 4, want: refused("unauthorized", s.user)},
		{name: "an encrypted key", port: s.port, key: "locked", code: 1, want: "hosts.yaml:4:REST: private key DIR/locked: the key is encrypted, and no SSH agent is running (SSH_AUTH_SOCK is not set)\n" +
			"  hint: start an agent and add the key: eval $(ssh-agent) && ssh-add DIR/locked\n"},
		{name: "a key that is not there", port: s.port, key: "none", code: 1, want: "hosts.yaml:4:REST: private key DIR/none: no such file or directory\n"},
		{name: "refused", port: closed, key: "id", code: 4, want: unreachable(fmt.Sprintf("127.0.0.1:%d", closed),
			fmt.Sprintf("dial AT: connection refused\n    hint: no program listens on port %d: is sshd running, and does it use this port?", closed), "connection refused")},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.inventory(t, test.port, test.key, "known_hosts")
			r := push(t, s.dir, append(append([]string{"-i", "hosts.yaml"}, test.args...), "web1", "exec", "true")...)
			want := strings.ReplaceAll(test.want, "DIR", s.dir)
			require.Equal(t, want, position.ReplaceAllString(r.shown(), "hosts.yaml:4:REST:"))
			require.Equal(t, test.code, r.code)
		})
	}
}

// TestTooManyLogins has an sshd that accepts one login at a time, and sends the reason to the second before it closes
// the connection.
func TestTooManyLogins(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "MaxStartups 1:100:1\n")
	s.inventory(t, s.port, "id", "known_hosts")
	at := fmt.Sprintf("127.0.0.1:%d", s.port)
	var first net.Conn
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", at)
		require.NoError(t, err)
		banner := make([]byte, 4)
		if _, err := io.ReadFull(conn, banner); err != nil || string(banner) != "SSH-" {
			conn.Close() // the one that found out whether sshd is up still counts
			return false
		}
		first = conn
		return true
	}, time.Minute, 20*time.Millisecond)
	defer first.Close()
	r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
	require.Equal(t, "web1  unreachable  handshake "+at+": the host closed the connection: it first said \"Exceeded MaxStartups\" (6 times in a row)\n"+
		"    hint: does an SSH server listen on this port, and does the server allow so many logins at once (sshd_config: MaxStartups)?\n"+
		"web1: 0 changed, 0 stable (unreachable: the host closed the connection, TIME)\n1 host: 0 ok, 1 unreachable; TIME\n", r.shown())
	require.Equal(t, 4, r.code)
}

// TestLoginsAtOnce has more hosts at one address than its sshd, with default limits, lets log in at once: none of them
// is lost.
func TestLoginsAtOnce(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "MaxStartups 10:30:100\nMaxSessions 1\nLogLevel INFO\n")
	s.inventory(t, s.port, "id", "known_hosts")
	text, err := os.ReadFile(s.path("hosts.yaml"))
	require.NoError(t, err)
	write(t, s.path("hosts.yaml"), strings.Replace(string(text), "web1:", "web[1:60]:", 1))
	r := push(t, s.dir, "-i", "hosts.yaml", "all", "exec", "true")
	require.Zero(t, r.code, r.shown())
	log, err := os.ReadFile(s.path("sshd.log"))
	require.NoError(t, err)
	require.Equal(t, 60, strings.Count(string(log), "Accepted publickey"))
	require.NotRegexp(t, "(?i)maxstartups|drop connection|startups", string(log))
}

// TestFleetConnectTimeout connects to an address without a host.
func TestFleetConnectTimeout(t *testing.T) {
	f := startFleet(t)
	nowhere := f.address("250.250")
	r := f.push("-i", nowhere+",", "-T", "1", "all", "exec", "true")
	require.Equal(t, nowhere+"  unreachable  dial "+nowhere+":22: timed out after TIME\n"+
		"    hint: is the address right, and does a firewall drop the packets?\n"+
		nowhere+": 0 changed, 0 stable (unreachable: timed out after TIME, TIME)\n1 host: 0 ok, 1 unreachable; TIME\n", r.shown())
	require.Equal(t, 4, r.code)
}
