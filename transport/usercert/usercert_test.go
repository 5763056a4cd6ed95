package usercert

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// delivery returns a request with all restrictions of a certificate.
func delivery(t *testing.T) Request {
	t.Helper()
	return Request{
		Key: sshtest.NewKey(t, "").PublicKey(), ID: "ccm-push-test", Principals: []string{"deploy", "root"}, ValidFor: 10 * time.Minute,
		ForceCommand:    "/bin/sh -c 'echo $1; exit 3' sh x",
		SourceAddresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/64")},
	}
}

// holding is an agent with a new key.
func holding(t *testing.T, private any) (agent.Agent, ssh.PublicKey) {
	t.Helper()
	ring := agent.NewKeyring()
	require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: private}))
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return ring, signer.PublicKey()
}

func newAuthority(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return private
}

func requireAllows(t *testing.T, r Request, cert *ssh.Certificate) {
	t.Helper()
	require.Equal(t, r.Key.Marshal(), cert.Key.Marshal())
	require.ElementsMatch(t, r.Principals, cert.ValidPrincipals)
	require.Equal(t, r.criticalOptions(), cert.CriticalOptions)
	require.Equal(t, r.extensions(), cert.Extensions)
	require.Equal(t, r.ID, cert.KeyId)
	require.LessOrEqual(t, cert.ValidBefore, uint64(time.Now().Add(r.ValidFor).Unix()))
	require.Greater(t, cert.ValidBefore, uint64(time.Now().Unix()))
}

func TestAuthorityInAgent(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ecdsaKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	edKey := newAuthority(t)
	for _, private := range []any{rsaKey, ecdsaKey, &edKey} {
		ring, key := holding(t, private)
		a := ByAgent(sshtest.ServeAgent(t, ring), key)
		r := delivery(t)
		cert, err := a.Certificate(t.Context(), r)
		require.NoError(t, err)
		requireAllows(t, r, cert)
		require.NotEqual(t, ssh.KeyAlgoRSA, cert.Signature.Format, "that is SHA-1")

		r.Extensions, r.ForceCommand, r.SourceAddresses = []string{"permit-port-forwarding"}, "", nil
		cert, err = a.Certificate(t.Context(), r)
		require.NoError(t, err)
		requireAllows(t, r, cert)
	}
}

func TestAgentRefuses(t *testing.T) {
	ring, _ := holding(t, newAuthority(t))
	_, other := holding(t, newAuthority(t))
	name := "the authority " + ssh.FingerprintSHA256(other) + ": "
	_, err := ByAgent(sshtest.ServeAgent(t, ring), other).Certificate(t.Context(), delivery(t))
	require.EqualError(t, err, name+"the agent does not hold its key: add it with ssh-add")
	_, err = ByAgent("", other).Certificate(t.Context(), delivery(t))
	require.EqualError(t, err, name+"no SSH agent is running: start one, and add its key (ssh-add)")

	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := &hanging{Agent: ring, asked: func() { cancel(errors.New("nobody confirms it")) }, answer: make(chan struct{})}
	socket := sshtest.ServeAgent(t, waiting)
	_, err = ByAgent(socket, other).Certificate(ctx, delivery(t))
	close(waiting.answer)
	require.EqualError(t, err, name+"nobody confirms it")
}

// A hanging agent waits for a signal before it answers.
type hanging struct {
	agent.Agent
	asked  func()
	answer chan struct{}
}

func (h *hanging) List() ([]*agent.Key, error) {
	h.asked()
	<-h.answer
	return h.Agent.List()
}

// sshKeygen returns a folder with the key of an authority, made by OpenSSH.
func sshKeygen(t *testing.T) (dir string) {
	t.Helper()
	program := needs.Program(t, "ssh-keygen")
	dir = t.TempDir()
	out, err := exec.Command(program, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "ca")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// signs is a command of an authority that runs ssh-keygen.
const signs = `ssh-keygen -q -s "$DIR/ca" -I "$CCM_PUSH_KEY_ID" -n "$CCM_PUSH_PRINCIPALS" -V "-1m:+${CCM_PUSH_VALID_SECONDS}s" -O clear ` +
	`${CCM_PUSH_FORCE_COMMAND:+-O "force-command=$CCM_PUSH_FORCE_COMMAND"} ${CCM_PUSH_SOURCE_ADDRESS:+-O "source-address=$CCM_PUSH_SOURCE_ADDRESS"} ` +
	`$(echo "$CCM_PUSH_EXTENSIONS" | sed 's/[^,][^,]*/-O &/g; s/,/ /g') "$CCM_PUSH_KEY_FILE"`

func environment(dir string) []string { return []string{"DIR=" + dir, "PATH=" + os.Getenv("PATH")} }

func TestAuthorityByCommand(t *testing.T) {
	dir := sshKeygen(t)
	for name, line := range map[string]string{
		"it writes a file": signs,
		"it prints":        signs + ` && cat "${CCM_PUSH_KEY_FILE%.pub}-cert.pub" && rm "${CCM_PUSH_KEY_FILE%.pub}-cert.pub"`,
		"it reads":         `cat >"$DIR/read.pub" && cmp "$DIR/read.pub" "$CCM_PUSH_KEY_FILE" && ` + signs,
	} {
		t.Run(name, func(t *testing.T) {
			a := ByCommand(line, "/bin/sh", environment(dir))
			r := delivery(t)
			cert, err := a.Certificate(t.Context(), r)
			require.NoError(t, err)
			requireAllows(t, r, cert)
			r.Extensions, r.ForceCommand, r.SourceAddresses = []string{"permit-port-forwarding", "permit-pty"}, "", nil
			cert, err = a.Certificate(t.Context(), r)
			require.NoError(t, err)
			requireAllows(t, r, cert)
		})
	}
}

func TestCommandFails(t *testing.T) {
	const who = "the command of the authority: "
	for line, want := range map[string]string{
		"echo no such role >&2; exit 4": who + `exit status 4: it last wrote "no such role"`,
		"exit 5":                        who + "exit status 5",
		"true":                          who + "it has printed nothing, and written no key-cert.pub next to $CCM_PUSH_KEY_FILE",
		"echo hello":                    who + `its output is not a certificate: "hello\n"`,
		"cat":                           who + "its output is a public key, not a certificate",
		"head -c 70000 /dev/zero":       who + "it printed more than 64 KiB",
	} {
		_, err := ByCommand(line, "/bin/sh", environment("")).Certificate(t.Context(), delivery(t))
		require.EqualError(t, err, want, line)
	}
}

// TestCertificateThatAllowsMore uses authorities that do not follow the request.
func TestCertificateThatAllowsMore(t *testing.T) {
	ca, err := ssh.NewSignerFromKey(newAuthority(t))
	require.NoError(t, err)
	const unused = "x: the certificate is not used: "
	r := delivery(t)
	for _, test := range []struct {
		change func(*ssh.Certificate)
		want   string
	}{
		{func(*ssh.Certificate) {}, ""},
		{func(c *ssh.Certificate) { delete(c.CriticalOptions, forceCommand) }, "its options are " +
			`source-address="192.0.2.1/32,2001:db8::/64", expected force-command="/bin/sh -c 'echo $1; exit 3' sh x" source-address="192.0.2.1/32,2001:db8::/64"`},
		{func(c *ssh.Certificate) { c.CriticalOptions = nil }, "its options are none, expected " +
			`force-command="/bin/sh -c 'echo $1; exit 3' sh x" source-address="192.0.2.1/32,2001:db8::/64"`},
		{func(c *ssh.Certificate) { c.Extensions = map[string]string{"permit-port-forwarding": ""} }, `its extensions are permit-port-forwarding="", expected none`},
		{func(c *ssh.Certificate) { c.ValidBefore = ssh.CertTimeInfinity }, "it is valid for longer than 10m0s"},
		{func(c *ssh.Certificate) { c.ValidBefore = uint64(time.Now().Add(time.Hour).Unix()) }, "it is valid for longer than 10m0s"},
		{func(c *ssh.Certificate) { c.ValidBefore = uint64(time.Now().Add(-time.Second).Unix()) }, "ssh: cert has expired"},
		{func(c *ssh.Certificate) { c.ValidPrincipals = nil }, `it is for [], expected ["deploy" "root"]`},
		{func(c *ssh.Certificate) { c.ValidPrincipals = append(c.ValidPrincipals, "other") }, `it is for ["deploy" "root" "other"], expected ["deploy" "root"]`},
		{func(c *ssh.Certificate) { c.CertType = ssh.HostCert }, "it is the certificate of a host, not of a user"},
		{func(c *ssh.Certificate) { c.Key = ca.PublicKey() }, "it is for another key"},
	} {
		a := &Authority{"x", func(_ context.Context, r Request, now time.Time) (*ssh.Certificate, error) {
			cert := r.unsigned(now)
			test.change(cert)
			return cert, cert.SignCert(rand.Reader, ca)
		}}
		_, err := a.Certificate(t.Context(), r)
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, unused+test.want)
	}

	forged := &Authority{"x", func(_ context.Context, r Request, now time.Time) (*ssh.Certificate, error) {
		cert := r.unsigned(now)
		err := cert.SignCert(rand.Reader, ca)
		cert.KeyId = "another"
		return cert, err
	}}
	_, err = forged.Certificate(t.Context(), r)
	require.EqualError(t, err, unused+"ssh: certificate signature does not verify")
}

func TestRequestsThatNobodySigns(t *testing.T) {
	for want, change := range map[string]func(*Request){
		"no key to certify":                       func(r *Request) { r.Key = nil },
		"no account is given for the certificate": func(r *Request) { r.Principals = nil },
		"a certificate cannot be valid for 0s":    func(r *Request) { r.ValidFor = 0 },
		`"a,b" is not allowed in a certificate: it is empty, or has a blank or a comma`: func(r *Request) { r.Principals = []string{"a,b"} },
		`"" is not allowed in a certificate: it is empty, or has a blank or a comma`:    func(r *Request) { r.ID = "" },
	} {
		r := delivery(t)
		change(&r)
		_, err := (&Authority{}).Certificate(t.Context(), r)
		require.EqualError(t, err, want)
	}
}
