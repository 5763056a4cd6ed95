//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSSHConfig runs ssh and ccm-push with the same ssh_config and the same sshd: either both can log in to a host, or
// neither.
func TestSSHConfig(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	s.know(t, "ecdsa_known_hosts", "ecdsa")
	public, err := os.ReadFile(s.path("host_ed25519.pub"))
	require.NoError(t, err)
	write(t, s.path("alias_known_hosts"), "cluster "+string(public))
	fill := strings.NewReplacer("$DIR", s.dir, "$PORT", strconv.Itoa(s.port))
	write(t, s.path("included"), fill.Replace("Host included\n  Port $PORT\n"))
	write(t, s.path("ssh_config"), fill.Replace(`Include $DIR/included
Host nokey
  IdentityFile $DIR/none
  IdentityAgent none
Host nomethod
  PubkeyAuthentication no
Host onlypassword
  PreferredAuthentications password
Host plain alias ecdsa added ordered jump command twice tuned nokey nomethod onlypassword unknown final gate gate2 v6
  HostName 127.0.0.1
  Port $PORT
Host alias
  HostKeyAlias Cluster
  UserKnownHostsFile $DIR/alias_known_hosts
Host added
  HostKeyAlgorithms +ssh-rsa
Host ordered
  HostKeyAlgorithms ^ssh-ed25519
Host ecdsa added ordered
  UserKnownHostsFile $DIR/ecdsa_known_hosts
Host unknown
  UserKnownHostsFile $DIR/nothing
Host jump
  ProxyJump gate
Host twice
  ProxyJump gate,gate2
Host command
  ProxyCommand ssh -F $DIR/ssh_config -W %h:%p gate
Host tuned
  Ciphers aes256-ctr
  KexAlgorithms ^ecdh-sha2-nistp521
  MACs -*etm*
  HostKeyAlgorithms ssh-ed25519
Host v6
  AddressFamily inet6
Match final host 127.0.0.1 originalhost final
  IdentitiesOnly yes
Host included
  HostName 127.0.0.1
Host *
  IdentityFile "$DIR/id"
  IdentitiesOnly yes
  UserKnownHostsFile $DIR/known_hosts
  StrictHostKeyChecking yes
  BatchMode yes
`))
	hosts := map[string]bool{
		"plain": true, "alias": true, "ecdsa": true, "added": true, "jump": true, "twice": true, "command": true, "tuned": true, "included": true, "final": true,
		"nomethod": false, "onlypassword": false, "unknown": false, "ordered": false, "v6": false,
		"nokey": true, // IdentityFile adds up
	}
	for host, letsIn := range hosts {
		t.Run(host, func(t *testing.T) {
			out, err := exec.Command("ssh", "-T", "-F", s.path("ssh_config"), host, "true").CombinedOutput()
			require.Equal(t, letsIn, err == nil, "ssh: %s", out)
			r := push(t, s.dir, "-i", host+",", "--ssh-config", s.path("ssh_config"), "--connect-retries", "0", host, "exec", "true")
			code := 4
			if letsIn {
				code = 0
			}
			r.requireCode(t, code)
			if letsIn {
				require.Empty(t, r.stderr)
			}
		})
	}
}
