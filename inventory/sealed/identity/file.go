package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
)

// maxFile is far above the size of any file of keys, in bytes.
const maxFile = 1 << 20

const otherKey = "decrypt with a key file instead: ssh-keygen -t ed25519 or age-keygen makes one; add its public key to .ccm-secrets.yaml; then a person who can read the secrets runs: ccm-push secret rekey"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// file reads the keys in a file.
func (k *Keys) file(path string) ([]held, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(k.Home, rest)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, withoutName(err)
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("more than %d MiB; this is not a key file", maxFile>>20)
	case info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("its mode %04o lets others at it; chmod 600 %s", info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, withoutName(err)
	}
	return k.parse(path, text)
}

// parse reads the text of a file of keys.
func (k *Keys) parse(path string, text []byte) ([]held, error) {
	switch {
	case bytes.Contains(text, []byte("PRIVATE KEY-----")):
		one, err := k.ssh(path, text)
		if err != nil {
			return nil, err
		}
		return []held{one}, nil
	case bytes.HasPrefix(text, []byte("age-encryption.org/")), bytes.HasPrefix(text, []byte("-----BEGIN AGE ENCRYPTED FILE-----")):
		return nil, errors.New("the file of keys is itself encrypted, which is not supported\n  hint: keep an SSH key with a passphrase instead")
	case bytes.Contains(text, []byte("AGE-PLUGIN-")):
		return nil, errors.New("a key of a plugin of age is not supported\n  hint: " + otherKey)
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return nil, fmt.Errorf("this is a public key of type %s, but a private key is needed\n  hint: name the file without .pub; a key that only an SSH agent or hardware holds cannot decrypt: %s", public.Type(), otherKey)
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("the file has no supported private key\n  hint: create a key with age-keygen or ssh-keygen -t ed25519")
	}
	var list []held
	for _, one := range identities {
		public := ""
		if x, ok := one.(*age.X25519Identity); ok {
			public = x.Recipient().String()
		}
		list = append(list, held{path, public, one})
	}
	return list, nil
}

// ssh reads an SSH key.
func (k *Keys) ssh(path string, text []byte) (held, error) {
	if kind := hardware(text); kind != "" {
		return held{}, fmt.Errorf("a key of type %s is stored in hardware that can sign, but cannot decrypt\n  hint: %s", kind, otherKey)
	}
	private, err := ssh.ParseRawPrivateKey(text)
	if missing, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		return k.locked(path, text, missing.PublicKey)
	}
	if err != nil {
		return held{}, fmt.Errorf("reading the private key: %w", err)
	}
	one, err := unlocked(private)
	if err != nil {
		return held{}, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return held{}, err
	}
	return held{path, line(signer.PublicKey()), one}, nil
}

// unlocked converts a private key to an identity of age.
func unlocked(private any) (age.Identity, error) {
	switch key := private.(type) {
	case *ed25519.PrivateKey:
		return agessh.NewEd25519Identity(*key)
	case ed25519.PrivateKey:
		return agessh.NewEd25519Identity(key)
	case *rsa.PrivateKey:
		return agessh.NewRSAIdentity(key)
	}
	signer, err := ssh.NewSignerFromKey(private)
	kind := "this type"
	if err == nil {
		kind = "type " + signer.PublicKey().Type()
	}
	return nil, unsuited(kind)
}

func unsuited(kind string) error {
	return fmt.Errorf("a key of %s cannot decrypt: age knows ssh-ed25519 and ssh-rsa\n  hint: %s", kind, otherKey)
}

// hardware returns the type of a hardware key, or "" for other keys.
func hardware(text []byte) string {
	block, _ := pem.Decode(text)
	if block == nil {
		return ""
	}
	for _, kind := range []string{"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"} {
		if bytes.Contains(block.Bytes, []byte(kind)) {
			return kind
		}
	}
	return ""
}

// locked reads a key with a passphrase. Keys in old formats do not contain the public key: then it is read from the
// .pub file.
func (k *Keys) locked(path string, text []byte, public ssh.PublicKey) (held, error) {
	if public == nil {
		beside, err := os.ReadFile(path + ".pub")
		if err != nil {
			return held{}, fmt.Errorf("the file is encrypted, and its public key is unknown: %w\n  hint: ssh-keygen -y -f %s > %s.pub", err, path, path)
		}
		if public, _, _, _, err = ssh.ParseAuthorizedKey(beside); err != nil {
			return held{}, fmt.Errorf("%s.pub: %w", path, err)
		}
	}
	if kind := public.Type(); kind != ssh.KeyAlgoED25519 && kind != ssh.KeyAlgoRSA {
		return held{}, unsuited("type " + kind)
	}
	one, err := agessh.NewEncryptedSSHIdentity(public, text, func() ([]byte, error) { return k.passphrase(path, text) })
	if err != nil {
		return held{}, err
	}
	return held{path, line(public), &oneAtATime{k, one}}, nil
}

// oneAtATime is a locked key that several goroutines may need at once: the first goroutine unlocks it while the others
// wait.
type oneAtATime struct {
	keys *Keys
	key  age.Identity
}

// Unwrap implements [age.Identity].
func (o *oneAtATime) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	o.keys.asking.Lock()
	defer o.keys.asking.Unlock()
	return o.key.Unwrap(stanzas)
}

// maxPassphrases is the maximum number of prompts for the passphrase of one file.
const maxPassphrases = 3

// passphrase returns the right passphrase of a file. Package age does not wrap its errors, so they are kept.
func (k *Keys) passphrase(path string, text []byte) ([]byte, error) {
	answer, err := k.askFor(path, text)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unasked = err
	return answer, err
}

// Failed returns why the last needed passphrase is missing, or nil.
func (k *Keys) Failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unasked
}

func (k *Keys) askFor(path string, text []byte) ([]byte, error) {
	for n := range maxPassphrases {
		var answer []byte
		var err error
		if k.Passphrase != nil {
			answer, err = k.Passphrase(path, n > 0)
		}
		switch {
		case err != nil:
			return nil, err
		case len(answer) == 0:
			return nil, fmt.Errorf("private key %s: its passphrase is needed; without a terminal, pass --key-passphrase-file FILE", path)
		}
		if _, err := ssh.ParseRawPrivateKeyWithPassphrase(text, answer); err == nil {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("private key %s: the passphrase is wrong", path)
}

// line returns a public key as in authorized_keys, without comment.
func line(public ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
}

// withoutName returns the cause of an error about a file that is named already.
func withoutName(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
