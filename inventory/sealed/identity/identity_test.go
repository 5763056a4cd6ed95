package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// keyFile writes a private key like ssh-keygen, and returns its public line.
func keyFile(t *testing.T, path string, private any, passphrase string) string {
	t.Helper()
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(private, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

// encryptedTo returns a text encrypted to an SSH key.
func encryptedTo(t *testing.T, public string) []byte {
	t.Helper()
	r, err := agessh.ParseRecipient(public)
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := age.Encrypt(&out, r)
	require.NoError(t, err)
	_, err = w.Write([]byte("text"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func decrypt(k *Keys, text []byte) (string, error) {
	all, err := k.All()
	if err != nil {
		return "", err
	}
	r, err := age.Decrypt(bytes.NewReader(text), all...)
	if err != nil {
		return "", err
	}
	clear, err := io.ReadAll(r)
	return string(clear), err
}

func noEnvironment(string) string { return "" }

func TestUsualFiles(t *testing.T) {
	home := t.TempDir()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	native, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	publicED := keyFile(t, filepath.Join(home, ".ssh", "id_ed25519"), ed, "")
	publicRSA := keyFile(t, filepath.Join(home, ".ssh", "id_rsa"), rsaKey, "")
	keys := filepath.Join(home, ".config", "sops", "age", "keys.txt")
	require.NoError(t, os.MkdirAll(filepath.Dir(keys), 0o700))
	require.NoError(t, os.WriteFile(keys, []byte("# created\n"+native.String()+"\n"), 0o600))
	k := &Keys{Home: home, Getenv: noEnvironment}
	for _, public := range []string{publicED, publicRSA} {
		text, err := decrypt(k, encryptedTo(t, public))
		require.NoError(t, err)
		require.Equal(t, "text", text)
	}
	require.Equal(t, []string{publicED, publicRSA, native.Recipient().String()}, k.PublicOf())
	require.Contains(t, k.Tried(), "tried "+home)
	// Named files replace the usual ones.
	k = &Keys{Home: home, Getenv: noEnvironment, Files: []string{"~/.ssh/id_rsa"}}
	_, err = decrypt(k, encryptedTo(t, publicED))
	require.Error(t, err)
}

func TestNothingThere(t *testing.T) {
	k := &Keys{Home: t.TempDir(), Getenv: func(name string) string { return map[string]string{"SSH_AUTH_SOCK": "x"}[name] }}
	all, err := k.All()
	require.NoError(t, err)
	require.Empty(t, all)
	require.Contains(t, k.Tried(), "no private key in ")
	require.Contains(t, k.Tried(), "a key that only an SSH agent holds cannot decrypt: name its file with --age-identity")
}

// TestPassphraseIsAskedForOnce checks that the prompt appears when the key is needed, again after a wrong answer, and
// never after a right one.
func TestPassphraseIsAskedForOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	text, err := os.ReadFile("testdata/locked") // of ssh-keygen -a 1, which is fast
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	line, err := os.ReadFile("testdata/locked.pub")
	require.NoError(t, err)
	public := string(line)
	_, other, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	publicOther := keyFile(t, filepath.Join(t.TempDir(), "other"), other, "")
	answers := []string{"wrong", "right", "never"}
	asked := 0
	k := &Keys{Files: []string{path}, Getenv: noEnvironment, Passphrase: func(got string, again bool) ([]byte, error) {
		require.Equal(t, path, got)
		require.Equal(t, asked > 0, again)
		asked++
		return []byte(answers[asked-1]), nil
	}}
	_, err = decrypt(k, encryptedTo(t, publicOther))
	require.Error(t, err)
	require.Zero(t, asked, "it is for another key")
	for range 3 {
		text, err := decrypt(k, encryptedTo(t, public))
		require.NoError(t, err)
		require.Equal(t, "text", text)
	}
	require.Equal(t, 2, asked)

	k = &Keys{Files: []string{path}, Getenv: noEnvironment}
	_, err = decrypt(k, encryptedTo(t, public))
	require.ErrorContains(t, err, "its passphrase is needed; without a terminal, pass --key-passphrase-file FILE")
	k.Passphrase = func(string, bool) ([]byte, error) { return []byte("wrong"), nil }
	_, err = decrypt(k, encryptedTo(t, public))
	require.ErrorContains(t, err, "the passphrase is wrong")
}

func TestUnsuited(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	write := func(text string) func() {
		return func() { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	}
	public := keyFile(t, filepath.Join(dir, "ed"), ed, "")
	for _, c := range []struct {
		name string
		make func()
		want string
	}{
		{"ecdsa", func() { keyFile(t, path, curve, "") }, "a key of type ecdsa-sha2-nistp256 cannot decrypt: age knows ssh-ed25519 and ssh-rsa"},
		{"ecdsa with a passphrase", func() { keyFile(t, path, curve, "x") }, "a key of type ecdsa-sha2-nistp256 cannot decrypt"},
		{"hardware", write(string(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("openssh-key-v1\x00…sk-ssh-ed25519@openssh.com…")}))), "a key of type sk-ssh-ed25519@openssh.com is stored in hardware that can sign, but cannot decrypt"},
		{"public", write(public + " anna\n"), "this is a public key of type ssh-ed25519, but a private key is needed"},
		{"plugin", write("AGE-PLUGIN-YUBIKEY-1QQQ\n"), "a key of a plugin of age is not supported"},
		{"encrypted", write("age-encryption.org/v1\n"), "the file of keys is itself encrypted"},
		{"nothing", write("hello\n"), "the file has no supported private key"},
		{"mode", func() { write(public)(); require.NoError(t, os.Chmod(path, 0o644)) }, "its mode 0644 lets others at it; chmod 600 " + path},
		{"missing", func() {}, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(path))
			c.make()
			k := &Keys{Files: []string{path}, Getenv: noEnvironment}
			_, err := k.All()
			require.ErrorContains(t, err, "age identity "+path+": "+c.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("AGE-SECRET-KEY-1\n"))
	f.Add([]byte("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k := &Keys{Getenv: noEnvironment}
		found, err := k.parse("/nowhere/key", text)
		require.Equal(t, err == nil, len(found) > 0)
	})
}
