package auth_test

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/auth"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func publicOf(t testing.TB, key ed25519.PrivateKey) ssh.PublicKey {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return s.PublicKey()
}

// startAgent serves keys on a socket.
func startAgent(t testing.TB, keys ...agent.AddedKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		require.NoError(t, ring.Add(k))
	}
	return serveAgent(t, func(c net.Conn) { agent.ServeAgent(ring, c) })
}

func serveAgent(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	socket := filepath.Join(shortDir(t), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		work.Wait()
	})
	return socket
}

// shortDir is a folder for a socket, whose path must be short: t.TempDir has the
// name of the test in it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestAuthErrors(t *testing.T) {
	srv := sshtest.Start(t)
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "wrong"), "")
	sshtest.WriteKey(t, filepath.Join(dir, "locked"), "secret")
	sshtest.WriteKey(t, filepath.Join(dir, "open"), "")
	require.NoError(t, os.Chmod(filepath.Join(dir, "open"), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "junk"), []byte("junk"), 0o600))

	for _, test := range []struct {
		name string
		keys []string
		user string
		err  string
	}{
		{"wrong key", []string{"wrong"}, "deploy", "web1: authenticate ADDR: authentication refused: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain\n" +
			"  hint: ccm-push offered these keys for the user deploy: wrong; check authorized_keys of this user on the host"},
		{"encrypted", []string{"locked"}, "deploy", "web1: authenticate ADDR: authentication refused: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain\n" +
			`  hint: no key to offer as deploy; name one with "private_key" or add one to the agent; locked is encrypted; add it to the agent (ssh-add DIR/locked)`},
		{"both", []string{"wrong", "locked"}, "root", "web1: authenticate ADDR: authentication refused: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain\n" +
			"  hint: ccm-push offered these keys for the user root: wrong; check authorized_keys of this user on the host; locked is encrypted; add it to the agent (ssh-add DIR/locked)"},
		{"missing", []string{"missing"}, "deploy", "web1: authenticate ADDR: private key DIR/missing: no such file or directory"},
		{"readable by others", []string{"open"}, "deploy", "web1: authenticate ADDR: private key DIR/open: its mode 0640 lets other users read it\n  hint: run: chmod 600 DIR/open"},
		{"no key", []string{"junk"}, "deploy", "web1: authenticate ADDR: private key DIR/junk: ssh: no key found\n  hint: name a private key file, such as ~/.ssh/id_ed25519"},
		{"no user", nil, "", "web1: authenticate ADDR: no user to log in as\n  hint: set the user of the connection"},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := targetOf(srv)
			target.User, target.PrivateKeys = test.user, nil
			for _, k := range test.keys {
				target.PrivateKeys = append(target.PrivateKeys, filepath.Join(dir, k))
			}
			err := dialOnce(t, &dial.Dialer{}, target)
			require.Equal(t, test.err, masked(err, srv.Addr, "ADDR", dir, "DIR"))
			require.True(t, transport.Unreachable(err))
		})
	}

	t.Run("no key at all", func(t *testing.T) {
		target := targetOf(srv)
		target.PrivateKeys = nil
		err := dialOnce(t, &dial.Dialer{Home: t.TempDir()}, target)
		require.ErrorIs(t, err, transport.ErrAuth)
		require.ErrorContains(t, err, `hint: no key to offer as deploy; name one with "private_key" or add one to the agent`)
	})
}

func TestDefaultKeyFiles(t *testing.T) {
	home := t.TempDir()
	good := sshtest.WriteKey(t, filepath.Join(home, ".ssh/id_ecdsa"), "")
	sshtest.WriteKey(t, filepath.Join(home, ".ssh/id_ed25519"), "secret")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh/id_rsa"), []byte("x"), 0o644))
	require.NoError(t, os.Chmod(filepath.Join(home, ".ssh/id_rsa"), 0o644)) // whatever the umask is
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(publicOf(t, good)))
	target := targetOf(srv)
	target.PrivateKeys = nil
	require.NoError(t, dialOnce(t, &dial.Dialer{Home: home}, target))

	target.User = "nobody"
	err := dialOnce(t, &dial.Dialer{Home: home}, target)
	require.Equal(t, "ccm-push offered these keys for the user nobody: id_ecdsa; check authorized_keys of this user on the host; id_ed25519 is encrypted; add it to the agent (ssh-add HOME/.ssh/id_ed25519); "+
		"private key HOME/.ssh/id_rsa: its mode 0644 lets other users read it; run: chmod 600 HOME/.ssh/id_rsa",
		masked(fmt.Errorf("%s", err.(*transport.HostError).Hint), home, "HOME"))
}

func TestAgent(t *testing.T) {
	dir := t.TempDir()
	locked := sshtest.WriteKey(t, filepath.Join(dir, "locked"), "secret")
	other := sshtest.WriteKey(t, filepath.Join(dir, "other"), "")
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(publicOf(t, locked)))
	socket := startAgent(t, agent.AddedKey{PrivateKey: other, Comment: "other"}, agent.AddedKey{PrivateKey: locked, Comment: "me@laptop"})

	t.Run("its keys are offered", func(t *testing.T) {
		target := targetOf(srv)
		target.PrivateKeys = nil
		require.NoError(t, dialOnce(t, &dial.Dialer{AgentSocket: socket}, target))
	})
	t.Run("it stands in for an encrypted file", func(t *testing.T) {
		target := targetOf(srv)
		target.PrivateKeys = []string{filepath.Join(dir, "locked")}
		target.User = "nobody"
		err := dialOnce(t, &dial.Dialer{AgentSocket: socket}, target)
		require.Equal(t, `ccm-push offered these keys for the user nobody: agent key "me@laptop", agent key "other"; check authorized_keys of this user on the host`, err.(*transport.HostError).Hint)
	})
	t.Run("it has more keys than a host may be asked about", func(t *testing.T) {
		var all []agent.AddedKey
		var names []string
		for i := range 8 {
			key := sshtest.WriteKey(t, filepath.Join(dir, fmt.Sprint("k", i)), "")
			all = append(all, agent.AddedKey{PrivateKey: key, Comment: "me@laptop"})
			if i < auth.MaxCandidates {
				names = append(names, `agent key "me@laptop" `+ssh.FingerprintSHA256(publicOf(t, key)))
			}
		}
		target := targetOf(srv)
		target.PrivateKeys = nil
		err := dialOnce(t, &dial.Dialer{AgentSocket: startAgent(t, all...)}, target)
		require.Equal(t, "ccm-push offered these keys for the user deploy: "+strings.Join(names, ", ")+"; 2 more were not offered, since a host allows only so many (sshd_config: MaxAuthTries): "+
			`name the right key with "private_key", or with IdentityFile and IdentitiesOnly in ssh_config`, err.(*transport.HostError).Hint)
	})
	t.Run("it is not there", func(t *testing.T) {
		dir := shortDir(t)
		target := targetOf(srv)
		target.PrivateKeys = nil
		err := dialOnce(t, &dial.Dialer{AgentSocket: filepath.Join(dir, "none")}, target)
		require.Equal(t, `no key to offer as deploy; name one with "private_key" or add one to the agent; `+
			"the agent at DIR/none gave no keys: dial unix DIR/none: connect: no such file or directory",
			masked(fmt.Errorf("%s", err.(*transport.HostError).Hint), dir, "DIR"))
	})
	t.Run("it hangs", func(t *testing.T) {
		hung := serveAgent(t, func(c net.Conn) { io.Copy(io.Discard, c) })
		require.NoError(t, dialOnce(t, &dial.Dialer{AgentSocket: hung}, targetOf(srv)))
	})
	t.Run("it hangs when it shall sign", func(t *testing.T) {
		ring := agent.NewKeyring()
		require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: locked}))
		stuck := serveAgent(t, func(c net.Conn) { agent.ServeAgent(hangingSigner{ring, c}, c) })
		target := targetOf(srv)
		target.PrivateKeys = nil
		err := dialOnce(t, &dial.Dialer{AgentSocket: stuck, Limits: shortLimits}, target)
		require.ErrorIs(t, err, transport.ErrTimeout)
	})
}

// A hangingSigner is an agent that waits for a confirmation that never comes.
type hangingSigner struct {
	agent.Agent
	conn net.Conn
}

func (h hangingSigner) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) {
	io.Copy(io.Discard, h.conn) // until the client gives up
	return nil, io.EOF
}

func TestTheKeyThatWorkedGoesFirst(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", "b"} {
		sshtest.WriteKey(t, filepath.Join(dir, n), "")
	}
	srv := sshtest.Start(t)
	target := targetOf(srv)
	target.PrivateKeys = []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), srv.KeyFile}
	d := &dial.Dialer{}
	turns := func() int64 {
		before := srv.Stats().Turns
		require.NoError(t, dialOnce(t, d, target))
		return srv.Stats().Turns - before
	}
	first := turns()
	require.Less(t, turns(), first)
}

// TestSlowConfirmation uses an agent that waits for a person longer than the host's limit.
func TestSlowConfirmation(t *testing.T) {
	key := sshtest.WriteKey(t, filepath.Join(t.TempDir(), "key"), "")
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(publicOf(t, key)))
	ring := agent.NewKeyring()
	require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: key}))
	socket := serveAgent(t, func(c net.Conn) { agent.ServeAgent(slowSigner{ring}, c) })
	target := targetOf(srv)
	target.PrivateKeys = nil
	require.NoError(t, dialOnce(t, &dial.Dialer{AgentSocket: socket, Limits: transport.Limits{Auth: shortTimeout}}, target))
}

type slowSigner struct{ agent.Agent }

func (s slowSigner) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	<-time.After(2 * shortTimeout)
	return s.Agent.Sign(key, data)
}
