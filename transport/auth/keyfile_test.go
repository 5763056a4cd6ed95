package auth_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/auth"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestEncryptedKeys(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	locked, other := sshtest.WriteKey(t, at("locked"), strangePassword), sshtest.WriteKey(t, at("other"), "other")
	sshtest.WriteKey(t, at(".ssh/id_rsa"), "default")
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(publicOf(t, locked)))
	target := targetOf(srv)
	target.PrivateKeys = []string{"~/locked", "~/other"}
	d := &dial.Dialer{Home: dir, AgentSocket: startAgent(t, agent.AddedKey{PrivateKey: other})}

	require.Equal(t, []string{at("locked")}, d.LockedKeys(t.Context(), target), "the agent has the other one")
	require.Error(t, dialOnce(t, d, target))
	err := d.Unlock(at("locked"), secret("wrong"))
	require.ErrorIs(t, err, transport.ErrPassphrase)
	require.EqualError(t, err, "private key "+at("locked")+": the passphrase is wrong")
	require.NoError(t, d.Unlock(at("locked"), secret(strangePassword)))
	require.Empty(t, d.LockedKeys(t.Context(), target))
	require.NoError(t, dialOnce(t, d, target))

	target.PrivateKeys = nil
	require.Empty(t, d.LockedKeys(t.Context(), target), "the agent has keys")
	target.Agent = "none"
	require.Equal(t, []string{at(".ssh/id_rsa")}, d.LockedKeys(t.Context(), target))
	target.Password = secret("x")
	require.Empty(t, d.LockedKeys(t.Context(), target), "there is a password")
	target.Password, target.Methods = nil, []string{"password"}
	require.Empty(t, d.LockedKeys(t.Context(), target), "no key is to be used")
}

// TestOldEncryptedKey uses a file without its public key.
func TestOldEncryptedKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "id_rsa")
	key := sshKeygen(t, file, "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "secret")
	require.NoError(t, os.Remove(file+".pub"))
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(key))
	target := targetOf(srv)
	target.PrivateKeys = []string{file}
	d := &dial.Dialer{}
	require.Equal(t, []string{file}, d.LockedKeys(t.Context(), target))
	require.ErrorIs(t, d.Unlock(file, secret("wrong")), transport.ErrPassphrase)
	require.NoError(t, d.Unlock(file, secret("secret")))
	require.NoError(t, dialOnce(t, d, target))
}

// An authenticator is a FIDO device in software, with an agent that uses it (PROTOCOL.u2f).
type authenticator struct {
	agent.ExtendedAgent
	key    ed25519.PrivateKey
	public ssh.PublicKey
}

const application = "ssh:test"

func newAuthenticator(t testing.TB) *authenticator {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	public, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Type        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, key.Public().(ed25519.PublicKey), application}))
	require.NoError(t, err)
	return &authenticator{agent.NewKeyring().(agent.ExtendedAgent), key, public}
}

func (a *authenticator) List() ([]*agent.Key, error) {
	return []*agent.Key{{Format: a.public.Type(), Blob: a.public.Marshal(), Comment: "yubikey"}}, nil
}

func (a *authenticator) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return a.SignWithFlags(key, data, 0)
}

func (a *authenticator) SignWithFlags(_ ssh.PublicKey, data []byte, _ agent.SignatureFlags) (*ssh.Signature, error) {
	const touched = 1
	app, message := sha256.Sum256([]byte(application)), sha256.Sum256(data)
	tail := binary.BigEndian.AppendUint32([]byte{touched}, 7) // flags, counter
	blob := ed25519.Sign(a.key, bytes.Join([][]byte{app[:], tail, message[:]}, nil))
	return &ssh.Signature{Format: a.public.Type(), Blob: blob, Rest: tail}, nil
}

func (a *authenticator) serve(t testing.TB) (socket string) {
	return serveAgent(t, func(c net.Conn) { agent.ServeAgent(a, c) })
}

// handle writes the private key file of a key in hardware, as ssh-keygen does.
func (a *authenticator) handle(t testing.TB, path string) {
	t.Helper()
	text := append([]byte("openssh-key-v1\x00"), ssh.Marshal(struct {
		Cipher, KDF, KDFOptions string
		Keys                    uint32
		Public                  []byte
		Private                 []byte
	}{"none", "none", "", 1, a.public.Marshal(), bytes.Repeat([]byte{0}, 64)})...)
	block := &pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: text}
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
}

// TestHardwareKeys has no hardware: the signatures are those a security key makes.
func TestHardwareKeys(t *testing.T) {
	a, dir := newAuthenticator(t), t.TempDir()
	a.handle(t, filepath.Join(dir, "id_ed25519_sk"))
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(a.public))
	target := targetOf(srv)
	for _, keys := range [][]string{nil, {"~/id_ed25519_sk"}} {
		target.PrivateKeys, target.IdentitiesOnly = keys, keys != nil
		require.NoError(t, dialOnce(t, &dial.Dialer{Home: dir, AgentSocket: a.serve(t)}, target))
	}
	err := dialOnce(t, &dial.Dialer{Home: dir}, target)
	require.Equal(t, `no key to offer as deploy; name one with "private_key" or add one to the agent; `+
		"id_ed25519_sk is for a security key; add it to the agent (ssh-add DIR/id_ed25519_sk)", strings.ReplaceAll(err.(*transport.HostError).Hint, dir, "DIR"))
}

func TestHardwareKeyAtRealSSHD(t *testing.T) {
	a := newAuthenticator(t)
	d, target, _ := realSSHD(t)
	authorized := filepath.Join(filepath.Dir(target.PrivateKeys[0]), "authorized_keys")
	require.NoError(t, os.WriteFile(authorized, ssh.MarshalAuthorizedKey(a.public), 0o600))
	d.AgentSocket, target.PrivateKeys = a.serve(t), nil
	require.NoError(t, dialOnce(t, d, target))
}

// TestPublicKeyStandsForTheAgent has the one key of many named by its public half.
func TestPublicKeyStandsForTheAgent(t *testing.T) {
	dir := shortDir(t)
	var keys []agent.AddedKey
	for range 9 {
		keys = append(keys, agent.AddedKey{PrivateKey: sshtest.WriteKey(t, filepath.Join(dir, "id"), "")})
	}
	public := newSignerFile(t, filepath.Join(dir, "mine"))
	mine, err := os.ReadFile(filepath.Join(dir, "mine"))
	require.NoError(t, err)
	private, err := ssh.ParseRawPrivateKey(mine)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.pub"), ssh.MarshalAuthorizedKey(public), 0o644))
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(public))
	target := targetOf(srv)
	target.PrivateKeys, target.IdentitiesOnly = []string{"~/mine.pub"}, true
	d := &dial.Dialer{Home: dir, AgentSocket: startAgent(t, append(keys, agent.AddedKey{PrivateKey: private})...)}
	require.NoError(t, dialOnce(t, d, target))

	target.Agent = "~/none"
	err = dialOnce(t, d, target)
	require.Equal(t, `no key to offer as deploy; name one with "private_key" or add one to the agent; `+
		"mine.pub is a public key, and the agent does not have its private one; "+
		"the agent at DIR/none gave no keys: dial unix DIR/none: connect: no such file or directory", strings.ReplaceAll(err.(*transport.HostError).Hint, dir, "DIR"))
}

func FuzzKeyFile(f *testing.F) {
	dir := f.TempDir()
	sshtest.WriteKey(f, filepath.Join(dir, "plain"), "")
	sshtest.WriteKey(f, filepath.Join(dir, "locked"), "x")
	newAuthenticator(f).handle(f, filepath.Join(dir, "sk"))
	for _, name := range []string{"plain", "locked", "sk"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDVkI+Vxm4Ao8HXqPLep2zadcv4I1gxw7om3ZkYp6mTR me"))
	f.Fuzz(func(t *testing.T, text []byte) {
		signs, remark, why, err := auth.ParseKeyFile(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.True(t, signs || remark != "" && why != "", "a key that cannot sign says why")
	})
}

// TestOptionalKeyFiles has files that ssh_config names and that are not there.
func TestOptionalKeyFiles(t *testing.T) {
	dir := t.TempDir()
	key := sshtest.WriteKey(t, filepath.Join(dir, "id"), "")
	require.NoError(t, os.Rename(filepath.Join(dir, "id"), filepath.Join(dir, "good")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "id.pub"), ssh.MarshalAuthorizedKey(publicOf(t, key)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "junk"), nil, 0o600))
	srv := sshtest.Start(t, sshtest.AuthorizedKeys(publicOf(t, key)))
	target := targetOf(srv)
	target.PrivateKeysOptional, target.IdentitiesOnly = true, true

	target.PrivateKeys = []string{"~/missing", "~/junk", "~/good"}
	d := &dial.Dialer{Home: dir}
	require.Empty(t, d.CheckFiles(target))
	require.NoError(t, dialOnce(t, d, target))

	target.PrivateKeys = []string{"~/id"}
	require.NoError(t, dialOnce(t, &dial.Dialer{Home: dir, AgentSocket: startAgent(t, agent.AddedKey{PrivateKey: key})}, target))

	target.PrivateKeys = []string{"~/missing", "~/junk"}
	err := dialOnce(t, d, target)
	require.Equal(t, `no key to offer as deploy; name one with "private_key" or add one to the agent; `+
		"private key DIR/missing: no such file or directory; private key DIR/junk: ssh: no key found; name a private key file, such as ~/.ssh/id_ed25519",
		strings.ReplaceAll(err.(*transport.HostError).Hint, dir, "DIR"))
}
