package auth_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shortTimeout is for hosts that never answer.
const shortTimeout = 300 * time.Millisecond

var shortLimits = transport.Limits{Dial: shortTimeout, Handshake: shortTimeout, Auth: shortTimeout, Sign: shortTimeout}

// targetOf returns the target to log in to srv.
func targetOf(srv *sshtest.Server) transport.Target {
	return transport.Target{
		Host: "web1", Address: srv.Host, Port: srv.Port, User: srv.User,
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
}

// masked replaces the changing parts of a message.
func masked(err error, pairs ...string) string {
	if err == nil {
		return ""
	}
	return strings.NewReplacer(pairs...).Replace(err.Error())
}

func newSigner(t testing.TB, keyType string) ssh.Signer { return sshtest.NewKey(t, keyType) }

// dialOnce dials and closes again.
func dialOnce(t testing.TB, d *dial.Dialer, target transport.Target) error {
	t.Helper()
	c, err := d.Dial(t.Context(), target)
	if err == nil {
		require.NoError(t, c.Close())
	}
	return err
}

// realSSHD returns the target to log in to OpenSSH's own sshd.
func realSSHD(t *testing.T) (d *dial.Dialer, target transport.Target, srv *sshtest.SSHD) {
	t.Helper()
	srv = sshtest.StartSSHD(t)
	target = transport.Target{
		Host: "web1", Address: srv.Address, User: srv.User,
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
	return &dial.Dialer{DialContext: srv.Dial}, target, srv
}

func newSignerFile(t *testing.T, path string) ssh.PublicKey {
	t.Helper()
	return publicOf(t, sshtest.WriteKey(t, path, ""))
}

// sshKeygen makes a key file with OpenSSH's own program.
func sshKeygen(t testing.TB, path string, args ...string) ssh.PublicKey {
	t.Helper()
	program := needs.Program(t, "ssh-keygen")
	out, err := exec.Command(program, append([]string{"-q", "-f", path}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(path + ".pub")
	require.NoError(t, err)
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	require.NoError(t, err)
	return key
}
