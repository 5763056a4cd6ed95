package sshconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkResolve resolves 10,000 hosts, with a file as people write it, and with a generated file that has a Host
// line for each host.
func BenchmarkResolve(b *testing.B) {
	const hosts = 10_000
	var each strings.Builder
	for i := range hosts {
		fmt.Fprintf(&each, "Host h%d\n  HostName 10.0.%d.%d\n  User u%d\n", i, i/250, i%250, i)
	}
	const few = `Host gate.*
  ProxyJump none
Host h1* h2*
  ProxyJump gate.example.com
  IdentityFile ~/.ssh/%r
Match host h*9 user root
  Port 2222
Host *
  User deploy
  ServerAliveInterval 15
  UserKnownHostsFile ~/.ssh/known_hosts ~/.ssh/known_hosts.d/%k
`
	for name, text := range map[string]string{"few": few, "each": each.String() + few} {
		b.Run(name, func(b *testing.B) {
			c, _ := load(b, environment("/home/me"), text)
			b.ReportAllocs()
			for b.Loop() {
				for i := range hosts {
					s, err := c.Resolve(Query{Host: fmt.Sprintf("h%d", i)})
					if err != nil || s.Text(User) == "" {
						require.NoError(b, err)
					}
				}
			}
		})
	}
}
