package dial

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestChosenAlgorithms(t *testing.T) {
	chosen := func(c *ssh.ServerConfig) {
		c.KeyExchanges, c.Ciphers, c.MACs = []string{ssh.KeyExchangeCurve25519}, []string{ssh.CipherAES128CTR}, []string{ssh.HMACSHA256}
	}
	srv := sshtest.Start(t, sshtest.Auth(chosen))
	for _, test := range []struct {
		name       string
		algorithms transport.Algorithms
		err        string
	}{
		{"defaults", transport.Algorithms{}, ""},
		{"chosen", transport.Algorithms{KeyExchanges: []string{ssh.KeyExchangeCurve25519}, Ciphers: []string{ssh.CipherAES128CTR}, MACs: []string{ssh.HMACSHA256},
			HostKeys: []string{ssh.KeyAlgoED25519}, PublicKeys: []string{ssh.KeyAlgoED25519}}, ""},
		{"unknown ones besides", transport.Algorithms{Ciphers: []string{"rot13", ssh.CipherAES128CTR}, HostKeys: []string{"ssh-dss-9", ssh.KeyAlgoED25519}}, ""},
		{"key exchange", transport.Algorithms{KeyExchanges: []string{ssh.KeyExchangeECDHP256}}, `we offered: ["ecdh-sha2-nistp256"`},
		{"cipher", transport.Algorithms{Ciphers: []string{ssh.CipherAES256GCM}}, `we offered: ["aes256-gcm@openssh.com"]`},
		{"host key", transport.Algorithms{HostKeys: []string{ssh.KeyAlgoRSASHA256}}, `we offered: ["rsa-sha2-256"]`},
		{"public key", transport.Algorithms{PublicKeys: []string{ssh.KeyAlgoRSASHA256}}, "no key to offer as deploy"},
		{"certificates only", transport.Algorithms{PublicKeys: []string{ssh.CertAlgoED25519v01}}, "no key to offer as deploy"},
		{"nothing is left", transport.Algorithms{Ciphers: []string{}}, `web1: handshake ADDR: no cipher can be offered: none of [] is supported; supported: aes128-gcm@openssh.com, aes256-gcm@openssh.com, chacha20-poly1305@openssh.com, aes128-ctr, aes192-ctr, aes256-ctr`},
		{"nothing is known", transport.Algorithms{MACs: []string{"md5"}}, `web1: handshake ADDR: no MAC can be offered: none of ["md5"] is supported; supported: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := targetOf(srv)
			target.Algorithms = test.algorithms
			err := dialOnce(t, &Dialer{}, target)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.Contains(t, masked(err, srv.Addr, "ADDR"), test.err)
			require.True(t, transport.Unreachable(err))
		})
	}
}
