package project

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// locked returns an SSH key with a passphrase, and counts the prompts for it.
func locked(t *testing.T, asked *atomic.Int32) (keys *identity.Keys, public string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("phrase"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return &identity.Keys{Files: []string{path}, Getenv: func(string) string { return "" }, Passphrase: func(string, bool) ([]byte, error) {
		asked.Add(1)
		return []byte("phrase"), nil
	}}, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

// parsed reads a file as a run does.
func parsed(t *testing.T, path string, keys *identity.Keys) (*yamlpos.Node, error) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	ring := &sealed.Ring{Schemes: []sealed.Scheme{&Scheme{Keys: keys}}}
	documents, err := yamlpos.Parse(path, text, yamlpos.Secrets(), yamlpos.KeepSealed(ring.Opener()))
	if err != nil {
		return nil, err
	}
	return documents[0], nil
}

// TestNothingIsUnlockedUntilUsed opens values of two files for many hosts at once.
func TestNothingIsUnlockedUntilUsed(t *testing.T) {
	var asked atomic.Int32
	m := newTeam(t)
	keys, public := locked(t, &asked)
	m.public["anna"] = public
	m.rules(t, "anna")
	m.seal(t, "a.yaml", "base: &b {x: !secret one}\nuse: {<<: *b}\nlist: [!secret two]\n")
	m.seal(t, "b.yaml", "a: !secret three\n---\na: !secret four\n")
	a, err := parsed(t, filepath.Join(m.folder, "a.yaml"), keys)
	require.NoError(t, err)
	b, err := parsed(t, filepath.Join(m.folder, "b.yaml"), keys)
	require.NoError(t, err)
	require.Zero(t, asked.Load())
	var hosts sync.WaitGroup
	for range 20 {
		hosts.Go(func() {
			for want, n := range map[string]*yamlpos.Node{"one": a.Get("use").Get("x"), "two": a.Get("list").Items[0], "three": b.Get("a")} {
				if text, err := n.Open(); err != nil || text != want || !n.Secret {
					t.Error(text, err)
				}
			}
		})
	}
	hosts.Wait()
	require.EqualValues(t, 1, asked.Load())
}

func TestSchemeErrors(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.seal(t, "a.yaml", "a: !secret one\n")
	path := filepath.Join(m.folder, "a.yaml")
	n, err := parsed(t, path, m.bert)
	require.NoError(t, err)
	_, err = n.Get("a").Open()
	require.ErrorContains(t, err, path+":1:1: none of your keys can decrypt the file")
	require.ErrorContains(t, err, "anna must run: ccm-push secret rekey")
	n, err = parsed(t, path, &identity.Keys{Home: t.TempDir(), Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	_, err = n.Get("a").Open()
	require.ErrorContains(t, err, path+":1:1: none of your keys can decrypt the file (no private key in ")
	require.ErrorContains(t, err, "anna must run: ccm-push secret rekey")

	m.write(t, map[string]string{"b.yaml": "a: !age hello\n", "c.yaml": "a: !age " + strings.Repeat("A", 60) + "\n"})
	_, err = parsed(t, filepath.Join(m.folder, "b.yaml"), m.anna)
	require.ErrorContains(t, err, "b.yaml:1:4: this is not a value that ccm-push encrypted\n  hint: mark a value in clear as !secret, and encrypt it: ccm-push secret encrypt ")
	n, err = parsed(t, filepath.Join(m.folder, "c.yaml"), m.anna)
	require.NoError(t, err)
	_, err = n.Get("a").Open()
	require.ErrorContains(t, err, "c.yaml:1:4: !age is in a file without the header that has its key")

	require.NoError(t, os.Remove(filepath.Join(m.folder, ".ccm-secrets.yaml")))
	n, err = parsed(t, path, m.anna)
	require.NoError(t, err)
	_, err = n.Get("a").Open()
	require.ErrorContains(t, err, ":4: no .ccm-secrets.yaml in this folder or in a folder above")
}
