package dial

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestHostsThatStallTheLogin has hosts that fall silent somewhere in the login. Only its
// own limit is short, as with -T.
func TestHostsThatStallTheLogin(t *testing.T) {
	for _, test := range []struct {
		name  string
		stall func(c *ssh.ServerConfig, forever func())
	}{
		{"none", func(c *ssh.ServerConfig, forever func()) {
			c.NoClientAuth = true
			c.NoClientAuthCallback = func(ssh.ConnMetadata) (*ssh.Permissions, error) { forever(); return nil, nil }
		}},
		{"a key", func(c *ssh.ServerConfig, forever func()) {
			c.PublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { forever(); return nil, nil }
		}},
		{"a password", func(c *ssh.ServerConfig, forever func()) {
			c.PublicKeyCallback = nil
			c.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { forever(); return nil, nil }
		}},
		{"before a prompt", func(c *ssh.ServerConfig, forever func()) {
			c.PublicKeyCallback = nil
			c.KeyboardInteractiveCallback = func(ssh.ConnMetadata, ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				forever()
				return nil, nil
			}
		}},
		{"behind a prompt", func(c *ssh.ServerConfig, forever func()) {
			c.PublicKeyCallback = nil
			c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				ask("", "", []string{"Password: "}, []bool{false})
				forever()
				return nil, nil
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			over := make(chan struct{})
			srv := sshtest.Start(t, sshtest.Auth(func(c *ssh.ServerConfig) { test.stall(c, func() { <-over }) }))
			t.Cleanup(func() { close(over) }) // before the server waits for its connections
			target := targetOf(srv)
			target.Password = secret("x")
			err := dialOnce(t, &Dialer{Limits: transport.Limits{Auth: shortTimeout}}, target)
			require.ErrorIs(t, err, transport.ErrTimeout)
			require.True(t, transport.Unreachable(err))
			require.Contains(t, masked(err, srv.Addr, "ADDR"), "web1: authenticate ADDR: timed out after 300ms")
		})
	}
}
