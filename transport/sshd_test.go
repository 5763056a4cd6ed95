package transport

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// realSSHD runs OpenSSH's sshd for every connection of the dialer, over a
// socket pair: it needs no port and no root. The home directory of its sessions
// is home.
func realSSHD(t *testing.T) (d *Dialer, target Target, home string) {
	t.Helper()
	program := findSSHD(t)
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	me, err := user.Current()
	require.NoError(t, err)
	hostKey := newSignerFile(t, filepath.Join(dir, "host_key"))
	clientKey := newSignerFile(t, filepath.Join(dir, "id"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "authorized_keys"), ssh.MarshalAuthorizedKey(clientKey), 0o600))
	known := knownhosts.Line([]string{"real.example"}, hostKey) + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "known_hosts"), []byte(known), 0o600))
	config := fmt.Sprintf("HostKey %[1]s/host_key\nAuthorizedKeysFile %[1]s/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n"+
		"PermitRootLogin yes\nSetEnv HOME=%[2]s\nSubsystem sftp internal-sftp -d %[2]s\nLogLevel ERROR\n", dir, home)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sshd_config"), []byte(config), 0o600))

	target = Target{
		Host: "web1", Address: "real.example", User: me.Username,
		PrivateKeys: []string{filepath.Join(dir, "id")}, KnownHosts: []string{filepath.Join(dir, "known_hosts")},
	}
	return &Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return startSSHD(t, program, "-i", "-e", "-f", filepath.Join(dir, "sshd_config"))
	}}, target, home
}

func findSSHD(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		program = "/usr/sbin/sshd" // not on everybody's PATH
		_, err = os.Stat(program)
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("sshd is not installed")
		}
		t.Skip("NOT TESTED with a real sshd: it is not installed")
	}
	if os.Getuid() == 0 {
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755)) // where root's sshd separates privileges
	}
	return program
}

func startSSHD(t *testing.T, program string, args ...string) (net.Conn, error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		syscall.ForkLock.RUnlock()
		return nil, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	syscall.ForkLock.RUnlock()
	ours, theirs := os.NewFile(uintptr(fds[0]), "client"), os.NewFile(uintptr(fds[1]), "sshd")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(program, args...)
	var log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		cmd.Wait()
		t.Logf("sshd: %s", log.String())
	})
	return net.FileConn(ours)
}

func newSignerFile(t *testing.T, path string) ssh.PublicKey {
	t.Helper()
	return publicOf(t, keyPair(t, path, ""))
}

func TestRealSSHD(t *testing.T) {
	d, target, home := realSSHD(t)
	c, err := d.Dial(t.Context(), target)
	require.NoError(t, err)
	defer c.Close()
	for _, uploaded := range []bool{true, false} {
		start := newStart(hello(t))
		p, err := c.StartModule(t.Context(), start)
		require.NoError(t, err)
		require.Equal(t, uploaded, p.Uploaded)
		requireEcho(t, p)
	}
	require.FileExists(t, filepath.Join(home, ".cache/ccm-push", hello(t).SHA256))
	start := newStart(hello(t))
	start.Facts = "exit7"
	p, err := c.StartModule(t.Context(), start)
	require.NoError(t, err)
	require.Equal(t, &ExitError{Code: 7, Stderr: "hello on stderr\n"}, p.Wait())
}

func TestRealSSHDRefuses(t *testing.T) {
	d, target, _ := realSSHD(t)
	dir := t.TempDir()
	keyPair(t, filepath.Join(dir, "wrong"), "")
	wrongKey := target
	wrongKey.PrivateKeys = []string{filepath.Join(dir, "wrong")}
	err := dialOnce(t, d, wrongKey)
	require.ErrorIs(t, err, ErrAuth)
	require.Contains(t, err.Error(), "offered wrong as "+target.User)

	stranger := target
	stranger.KnownHosts = []string{filepath.Join(dir, "none")}
	require.ErrorIs(t, dialOnce(t, d, stranger), ErrHostKeyUnknown)
}

func TestRealSSHDAsJumpHost(t *testing.T) {
	d, jump, _ := realSSHD(t)
	defer d.Close()
	target := Target{Host: "web1", Address: "127.0.0.1", Port: 1, User: "u", Jump: []Target{jump}}
	err := dialOnce(t, d, target)
	require.EqualError(t, err, "web1: dial 127.0.0.1:1: connection refused, seen from web1\n  hint: nothing listens there: is sshd running, and is 1 its port?")
}

func TestRealSSHDManyHosts(t *testing.T) {
	d, target, _ := realSSHD(t)
	var hosts sync.WaitGroup
	for range 4 {
		hosts.Go(func() {
			c, err := d.Dial(t.Context(), target)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			p, err := c.StartModule(t.Context(), newStart(hello(t)))
			if err != nil {
				t.Error(err)
				return
			}
			requireEcho(t, p)
		})
	}
	hosts.Wait()
}
