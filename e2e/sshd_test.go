//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// A server is OpenSSH's sshd on a port of the loopback. It runs as the user of the test, and only that user can log in.
type server struct {
	dir  string // with its keys, and the client's: id
	port int
	user string
}

// startSSHD starts sshd; config goes before the rest of its configuration, in which
// the first word on something counts.
func startSSHD(tb testing.TB, config string) *server {
	tb.Helper()
	program := needs.Program(tb, "sshd")
	if os.Getuid() == 0 {
		require.NoError(tb, os.MkdirAll("/run/sshd", 0o755)) // where root's sshd separates privileges
	}
	me, err := user.Current()
	require.NoError(tb, err)
	s := &server{dir: tb.TempDir(), port: freePort(tb), user: me.Username}
	s.keygen(tb, "id", "-t", "ed25519")
	text := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n"+
		"SetEnv HOME=%s\nSubsystem sftp internal-sftp\nLogLevel ERROR\n", s.port, s.path("authorized_keys"), s.path("home"))
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		s.keygen(tb, "host_"+kind, "-t", kind)
		text += "HostKey " + s.path("host_"+kind) + "\n"
	}
	s.authorize(tb, "id")
	s.know(tb, "known_hosts", "ed25519")
	require.NoError(tb, os.Mkdir(s.path("home"), 0o700))
	write(tb, s.path("sshd_config"), config+text)
	s.serve(tb, program)
	return s
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *server) keygen(tb testing.TB, name string, args ...string) {
	tb.Helper()
	output(tb, "ssh-keygen", append([]string{"-q", "-N", "", "-f", s.path(name)}, args...)...)
}

// authorize lets the keys in these files log in.
func (s *server) authorize(tb testing.TB, keys ...string) {
	tb.Helper()
	var text string
	for _, key := range keys {
		public, err := os.ReadFile(s.path(key + ".pub"))
		require.NoError(tb, err)
		text += string(public)
	}
	write(tb, s.path("authorized_keys"), text)
}

// know writes a known_hosts file with one key of the server.
func (s *server) know(tb testing.TB, name, kind string) {
	tb.Helper()
	public, err := os.ReadFile(s.path("host_" + kind + ".pub"))
	require.NoError(tb, err)
	write(tb, s.path(name), fmt.Sprintf("[127.0.0.1]:%d %s", s.port, public))
}

// serve runs sshd until the test ends, and returns when it answers. An sshd of root has a lock and a state of its own,
// so that such tests can run in parallel although all use this machine as their host.
func (s *server) serve(tb testing.TB, program string) {
	tb.Helper()
	cmd := exec.Command("./apart", program, "-D", "-e", "-f", s.path("sshd_config"))
	log, err := os.Create(s.path("sshd.log"))
	require.NoError(tb, err)
	cmd.Stderr = log
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if text, _ := os.ReadFile(log.Name()); len(text) > 0 {
			tb.Logf("sshd: %s", text)
		}
	})
	require.Eventually(tb, func() bool { return answers(s.port) }, time.Minute, 20*time.Millisecond, "sshd does not answer")
}

// answers reports whether an SSH server has sent its banner.
func answers(port int) bool {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	defer conn.Close()
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.HasPrefix(line, "SSH-")
}

// freePort returns a free port of the loopback. It is below the ports that the kernel assigns: a test of another
// package, which runs in parallel, could get one of those before sshd listens on it.
func freePort(tb testing.TB) int {
	tb.Helper()
	for range 100 {
		port := 10000 + rand.IntN(20000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	tb.Fatal("no port of the loopback is free")
	return 0
}

// inventory writes hosts.yaml, which leads to the server by way of a port.
func (s *server) inventory(tb testing.TB, port int, key, knownHosts string) {
	tb.Helper()
	write(tb, s.path("hosts.yaml"), fmt.Sprintf("all:\n  hosts:\n    web1:\n      connect: {address: 127.0.0.1, port: %d, user: %s, private_key: %s, known_hosts: %s}\n"+
		"      root: %s\n      me: \"%d\"\n      group: \"%d\"\n", port, s.user, s.path(key), s.path(knownHosts), s.path("root"), os.Getuid(), os.Getgid()))
}

// site writes a manifest of n files.
func (s *server) site(tb testing.TB, n int) {
	tb.Helper()
	var b strings.Builder
	b.WriteString("ccm:\n  resources:\n    - file:\n        - defaults: {owner: \"{{ Data.me }}\", group: \"{{ Data.group }}\", mode: \"0755\"}\n        - \"{{ Data.root }}\": {ensure: directory}\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "        - \"{{ Data.root }}/f%d\": {content: \"%d on {{ Facts.host.info.os }}, and some more text that makes it worth sending\\n\"}\n", i, i)
	}
	write(tb, s.path("site.yaml"), b.String())
}

func TestFullRunOverRealSSHD(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	s.inventory(t, s.port, "id", "known_hosts")
	s.site(t, 20)
	r := push(t, s.dir, "-i", "hosts.yaml", "--check", "--diff", "--detailed-exitcode", "site.yaml")
	r.requireCode(t, 8)
	require.NoDirExists(t, s.path("root"))
	r = push(t, s.dir, "-i", "hosts.yaml", "--detailed-exitcode", "site.yaml")
	r.requireCode(t, 8)
	require.FileExists(t, s.path("root/f18"))
	r = push(t, s.dir, "-i", "hosts.yaml", "--detailed-exitcode", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "20 resources: 0 changed, 20 stable")
}

func TestKeysOfRealSSHD(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	formats := map[string][]string{
		"id_ed25519":   {"-t", "ed25519"},
		"id_rsa_pem":   {"-t", "rsa", "-m", "PEM"},
		"id_ecdsa_pem": {"-t", "ecdsa", "-m", "PEM"},
		"id_pkcs8":     {"-t", "rsa", "-m", "PKCS8"},
		"id_openssh":   {"-t", "ecdsa"},
	}
	var names []string
	for name, args := range formats {
		s.keygen(t, name, args...)
		names = append(names, name)
	}
	s.authorize(t, names...)
	for _, name := range names {
		t.Run("client "+name, func(t *testing.T) {
			s.inventory(t, s.port, name, "known_hosts")
			push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
		})
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run("host "+kind, func(t *testing.T) {
			s.know(t, kind, kind)
			output(t, "ssh-keygen", "-q", "-H", "-f", s.path(kind)) // hashes the name
			s.inventory(t, s.port, names[0], kind)
			push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
		})
	}
	t.Run("unknown host", func(t *testing.T) {
		write(t, s.path("none"), "")
		s.inventory(t, s.port, names[0], "none")
		r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
		r.requireCode(t, 4)
		require.Contains(t, r.stdout, "the host key is unknown")
	})
	t.Run("a key that is not authorized", func(t *testing.T) {
		s.keygen(t, "unauthorized", "-t", "ed25519")
		s.inventory(t, s.port, "unauthorized", "known_hosts")
		r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
		r.requireCode(t, 4)
		require.Contains(t, r.stdout, "authentication refused")
	})
}

// TestLoginShells has sshd pass each command to another login shell, unchanged, as if that were in /etc/passwd.
func TestLoginShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash", "dash", "csh", "tcsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path := needs.Program(t, shell)
			s := startSSHD(t, fmt.Sprintf("ForceCommand exec %s -c \"$SSH_ORIGINAL_COMMAND\"\n", path))
			s.inventory(t, s.port, "id", "known_hosts")
			s.site(t, 3)
			push(t, s.dir, "-i", "hosts.yaml", "--detailed-exitcode", "site.yaml").requireCode(t, 8)
			push(t, s.dir, "-i", "hosts.yaml", "--detailed-exitcode", "site.yaml").requireCode(t, 0)
			r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "echo 'it''s $0' \"$((1+1))\" !x")
			r.requireCode(t, 0)
			require.Contains(t, r.stdout, "its $0 2 !x\n")
		})
	}
}
