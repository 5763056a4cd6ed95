//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A narrowWay is a TCP proxy that counts the bytes in both directions.
type narrowWay struct {
	port  int
	bytes atomic.Int64
}

// startNarrowWay puts a proxy in front of an address until the test ends.
func startNarrowWay(tb testing.TB, to string) *narrowWay {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	w := &narrowWay{port: listener.Addr().(*net.TCPAddr).Port}
	var work sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer to.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.MultiWriter(to, w), from)
	}
	work.Go(func() {
		for near, err := listener.Accept(); err == nil; near, err = listener.Accept() {
			work.Go(func() {
				defer near.Close()
				far, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer far.Close()
				var back sync.WaitGroup
				back.Go(func() { carry(near, far) })
				carry(far, near)
				back.Wait()
			})
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		work.Wait()
	})
	return w
}

// Write implements [io.Writer].
func (w *narrowWay) Write(b []byte) (int, error) {
	w.bytes.Add(int64(len(b)))
	return len(b), nil
}

// A relaySite is three hosts which trust an authority: h001 is reached over a narrow way, and the others through it.
type relaySite struct {
	*fleet
	way  *narrowWay
	size int64 // compressed size of the host program
}

// startRelaySite starts such hosts. inventory has further settings of h002 and h003.
func startRelaySite(t *testing.T) *relaySite {
	s := &relaySite{fleet: startFleet(t)}
	outputOf(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.path("ca")))
	public, err := os.ReadFile(s.path("ca.pub"))
	require.NoError(t, err)
	for _, host := range hosts {
		s.sh(host, "echo '"+strings.TrimSpace(string(public))+"' >/etc/ssh/e2e_ca")
		s.sshdSays(host, "TrustedUserCAKeys /etc/ssh/e2e_ca")
	}
	write(t, s.path("ca.sh"), authorityScript)
	require.NoError(t, os.Chmod(s.path("ca.sh"), 0o755))
	s.way = startNarrowWay(t, s.address("0.11")+":22")
	s.size = leanSize(t)
	return s
}

// authorityScript is a command of an authority, as ccm-push new authority writes it.
const authorityScript = `#!/bin/sh
exec ssh-keygen -q -s "${0%/*}/ca" -I "$CCM_PUSH_KEY_ID" -n "$CCM_PUSH_PRINCIPALS" -V "-1m:+${CCM_PUSH_VALID_SECONDS}s" -O clear \
  ${CCM_PUSH_FORCE_COMMAND:+-O "force-command=$CCM_PUSH_FORCE_COMMAND"} \
  ${CCM_PUSH_SOURCE_ADDRESS:+-O "source-address=$CCM_PUSH_SOURCE_ADDRESS"} \
  $(echo "$CCM_PUSH_EXTENSIONS" | sed 's/[^,][^,]*/-O &/g; s/,/ /g') "$CCM_PUSH_KEY_FILE"
`

// inventory writes an inventory; others has the settings of the group of h002 and h003.
func (s *relaySite) inventory(others string) {
	state := "/run/ccm-push-fleet"
	if s.number > 0 {
		state += fmt.Sprint("-", s.number)
	}
	known, err := os.ReadFile(state + "/known_hosts")
	require.NoError(s, err)
	text := string(known)
	for line := range strings.Lines(text) {
		if names, key, _ := strings.Cut(line, " "); strings.HasPrefix(names, s.address("0.11")+",") {
			text += fmt.Sprintf("[127.0.0.1]:%d %s", s.way.port, key)
		}
	}
	write(s, s.path("known_hosts"), text)
	write(s, s.path("hosts.yaml"), fmt.Sprintf(`
all:
  connect: {user: deploy, private_key: %s/key, known_hosts: known_hosts}
  children:
    gates: {hosts: {h001: {connect: {address: 127.0.0.1, port: %d}}}}
    site:
      connect: %s
      hosts: {h002: {connect: {address: %s}}, h003: {connect: {address: %s}}}
`, state, s.way.port, others, s.address("0.12"), s.address("0.13")))
}

// first makes a first run as root, with the host programs removed, and returns how often the program crossed the narrow
// way.
func (s *relaySite) first(args ...string) (r run, copies float64) {
	s.Helper()
	return s.firstOf(hosts, args...)
}

// firstOf is first on some of the hosts.
func (s *relaySite) firstOf(on []string, args ...string) (r run, copies float64) {
	s.Helper()
	for _, host := range hosts {
		s.sh(host, "rm -rf /root/.cache /home/deploy/.cache")
	}
	before := s.way.bytes.Load()
	r = s.push(append(args, "-i", "hosts.yaml", "-b", strings.Join(on, ","), "exec", "id -u")...)
	r.requireCode(s, 0)
	require.Contains(s, r.stdout, fmt.Sprintf("%[1]d hosts: %[1]d ok", len(on)))
	for _, host := range on {
		require.True(s, s.holds(host, "test -n \"$(find /root/.cache/ccm-push -name ????????????????????????????????????????????????????????????????)\""), host)
		s.awaits(host, "test -z \"$(find /home/deploy/.cache /root/.cache -name '.*' ! -name .cache)\"")
	}
	return r, float64(s.way.bytes.Load()-before) / float64(s.size)
}

const byAuthority = "--ca-command=./ca.sh"

func TestFleetRelay(t *testing.T) {
	s := startRelaySite(t)
	s.delivers()
	s.fails()
}

// TestFleetRelayPage follows docs/guide/relays.md.
func TestFleetRelayPage(t *testing.T) {
	f := startNamedHosts(t, "gate", "web1", "web2")
	f.trustAll()
	require.Equal(t, 5, f.followSection("guide/relays.md", "An example"))
}

// delivers checks that hosts get the program from one host, to which it is sent once.
func (s *relaySite) delivers() {
	t := s.TB
	packed := func(host string) bool { return s.holds(host, "ls /home/deploy/.cache/ccm-push/*.gz") }

	s.inventory("{jump: h001}")
	r, copies := s.first()
	require.InDelta(t, 3, copies, 0.5, "without an authority")
	require.Empty(t, r.stderr)
	require.False(t, packed("h002"))

	r, copies = s.first(byAuthority)
	require.InDelta(t, 1, copies, 0.25, "the jump host is the relay, and needs the program itself")
	require.Empty(t, r.stderr)
	require.True(t, packed("h001") && packed("h002") && packed("h003"))
	t.Logf("the program went over the way to the jump host %.2f times", copies)

	_, copies = s.firstOf(hosts[1:], byAuthority)
	require.InDelta(t, 1, copies, 0.25, "the jump host is the relay, and no host of the run")

	s.inventory("{jump: h001, relay: none}")
	_, copies = s.first(byAuthority)
	require.InDelta(t, 3, copies, 0.5, "the inventory wants no relay")

	s.inventory("{relay: gates}")
	_, copies = s.first(byAuthority)
	require.InDelta(t, 1, copies, 0.25, "the others are not reached over that way")
	require.True(t, packed("h002") && packed("h003"), "they were not delivered to")
}

// fails checks that after any fault of a relay, hosts get the program as without it.
func (s *relaySite) fails() {
	t := s.TB
	s.inventory("{jump: h001}")

	// The relay reports a delivery, and has delivered another file, or none.
	const lies = `#!/bin/sh
for a; do case $a in *.relay-*/key) n=${a#*.relay-}; n=${n%/key};; esac; done
echo took $n $(readlink /proc/self/fd/0)
`
	s.sh("h001", "mv /usr/bin/ssh /usr/bin/ssh.e2e && cat >/usr/bin/ssh <<'END'\n"+lies+"END\nchmod 755 /usr/bin/ssh")
	t.Cleanup(func() { s.sh("h001", "mv /usr/bin/ssh.e2e /usr/bin/ssh") })
	r, copies := s.first(byAuthority)
	require.InDelta(t, 3, copies, 0.5)
	require.Regexp(t, "warning: relay h001 is not used any more: it has delivered other data to h00[23] than it was sent\n", r.stderr)

	s.sh("h001", "rm /usr/bin/ssh")
	r, copies = s.first(byAuthority)
	require.InDelta(t, 3, copies, 0.5)
	require.Equal(t, "ccm-push: warning: relay h001 is not used: making a key to deliver with: no ssh or ssh-keygen on the host\n", r.stderr)
	s.sh("h001", "cp /usr/bin/ssh.e2e /usr/bin/ssh")

	r, copies = s.first("--ca-command=echo no >&2; exit 9")
	require.InDelta(t, 3, copies, 0.5)
	require.Equal(t, "ccm-push: warning: no host is a relay in this run: the command of the authority: exit status 9: it last wrote \"no\"\n", r.stderr)

	for _, host := range hosts[1:] {
		s.sh(host, "mv /etc/ssh/e2e_ca /etc/ssh/e2e_ca.e2e; echo >/etc/ssh/e2e_ca")
	}
	r, copies = s.first(byAuthority)
	require.InDelta(t, 3, copies, 0.5, "the hosts trust another authority")
	require.Regexp(t, "^ccm-push: warning: relay h001: delivering to h00[23]: ssh on the relay reports .*Permission denied.*; the controller sends the host program to this host, and to all hosts with this error\n$", r.stderr)
	for _, host := range hosts[1:] {
		s.sh(host, "mv /etc/ssh/e2e_ca.e2e /etc/ssh/e2e_ca")
	}

	// The login user of a host has put a link in the place of the directory that is delivered to.
	s.sh("h002", "rm -rf /root/.cache /home/deploy/.cache && mkdir -p /home/deploy/.cache /tmp/e2e-else && chmod 700 /tmp/e2e-else && "+
		"ln -s /tmp/e2e-else /home/deploy/.cache/ccm-push && chown -hR deploy /home/deploy/.cache /tmp/e2e-else")
	before := s.way.bytes.Load()
	r = s.push("-i", "hosts.yaml", "-b", byAuthority, "all", "exec", "id -u")
	r.requireCode(t, 0)
	require.Less(t, float64(s.way.bytes.Load()-before)/float64(s.size), 1.5, "only that host is sent the program")
	require.Equal(t, `ccm-push: warning: relay h001: delivering to h002: it cannot take the file: "nodir"; the controller sends the host program to this host, and to all hosts with this error`+"\n", r.stderr)
	require.False(t, s.holds("h002", "test -n \"$(ls /tmp/e2e-else)\""))
}
