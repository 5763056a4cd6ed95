package dial

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// realSSHD returns the target to log in to OpenSSH's own sshd.
func realSSHD(t *testing.T) (d *Dialer, target transport.Target, srv *sshtest.SSHD) {
	t.Helper()
	srv = sshtest.StartSSHD(t)
	target = transport.Target{
		Host: "web1", Address: srv.Address, User: srv.User,
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
	return &Dialer{DialContext: srv.Dial}, target, srv
}

func TestRealSSHDRefuses(t *testing.T) {
	d, target, _ := realSSHD(t)
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "wrong"), "")
	wrongKey := target
	wrongKey.PrivateKeys = []string{filepath.Join(dir, "wrong")}
	err := dialOnce(t, d, wrongKey)
	require.ErrorIs(t, err, transport.ErrAuth)
	require.Contains(t, err.Error(), "ccm-push offered these keys for the user "+target.User+": wrong")

	unknown := target
	unknown.KnownHosts = []string{filepath.Join(dir, "none")}
	require.ErrorIs(t, dialOnce(t, d, unknown), transport.ErrHostKeyUnknown)
}

func TestRealSSHDAsJumpHost(t *testing.T) {
	d, jump, _ := realSSHD(t)
	defer d.Close()
	target := transport.Target{Host: "web1", Address: "127.0.0.1", Port: 1, User: "u", Jump: []transport.Target{jump}}
	err := dialOnce(t, d, target)
	require.EqualError(t, err, "web1: dial 127.0.0.1:1: connection refused, seen from web1\n  hint: no program listens on port 1: is sshd running, and does it use this port?")
}
