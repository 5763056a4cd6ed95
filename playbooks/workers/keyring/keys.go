package keyring

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules/publickey"
)

// A Key is the private key of a coordinator or a worker. Others recognize it by the public key.
type Key struct {
	signer   ssh.Signer
	identity age.Identity // the same key, for sealed messages
}

// ReadKey reads a private key as ssh-keygen makes it, without a passphrase.
func ReadKey(path string) (Key, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Key{}, fmt.Errorf("%w\n  hint: make it: mkdir -p %s; ssh-keygen -t ed25519 -N '' -f %s", err, filepath.Dir(path), path)
	case err != nil:
		return Key{}, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	switch _, locked := errors.AsType[*ssh.PassphraseMissingError](err); {
	case locked:
		return Key{}, fmt.Errorf("%s: the key has a passphrase, and no prompt is possible here\n  hint: create a separate key: ssh-keygen -t ed25519 -N '' -f FILE", path)
	case err != nil:
		return Key{}, fmt.Errorf("%s: %w", path, err)
	case signer.PublicKey().Type() != ssh.KeyAlgoED25519:
		return Key{}, fmt.Errorf("%s: the key is of type %s, and only ssh-ed25519 is accepted\n  hint: create a key: ssh-keygen -t ed25519 -N '' -f FILE", path, signer.PublicKey().Type())
	}
	raw, err := ssh.ParseRawPrivateKey(text)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	private, ok := raw.(*ed25519.PrivateKey)
	if !ok {
		return Key{}, fmt.Errorf("%s: the key is not an ed25519 key", path)
	}
	identity, err := agessh.NewEd25519Identity(*private)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return Key{signer, identity}, nil
}

// Public returns the line of the key in lists.
func (k Key) Public() string {
	return string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(k.signer.PublicKey())))
}

// PublicKey returns the public key.
func (k Key) PublicKey() ssh.PublicKey { return k.signer.PublicKey() }

// Identity returns the identity that opens data sealed to the key.
func (k Key) Identity() age.Identity { return k.identity }

// readKeyring reads a list in the format of authorized_keys. Options that limit a worker are read only if limits is true.
func readKeyring(path string, limits bool) (Keyring, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w\n  hint: create %s with the public keys of the allowed machines, one per line: the contents of their .pub files", err, path)
	case err != nil:
		return nil, err
	}
	return parseKeyring(path, text, limits)
}

func parseKeyring(path string, text []byte, limits bool) (Keyring, error) {
	ring := Keyring{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		at := fmt.Sprintf("%s:%d", path, number)
		key, e, err := parseEntry(line, limits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		e.At = at
		other, twice := ring[string(key.Marshal())]
		if twice && len(e.Sites)+len(e.From)+len(other.Sites)+len(other.From) > 0 { // one of them would lift the limits of the other
			return nil, fmt.Errorf("%s: the line %s has the same key with other options: remove one of the two lines", at, other.At)
		}
		ring[string(key.Marshal())] = e
	}
	if len(ring) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoKey)
	}
	return ring, nil
}

// ErrNoKey reports a list without keys.
var ErrNoKey = errors.New("the file has no key")

// A Message can be signed. Check returns an error for contents that no program of the same build sends.
type Message interface{ Check() error }

// A signed message contains its public key. The reader looks it up in a list.
type signed struct {
	Body      []byte         `json:"body"`
	Key       []byte         `json:"key"`
	Signature *ssh.Signature `json:"signature"`
}

// toSign returns the signed bytes of a message, as sshsig defines them (PROTOCOL.sshsig of OpenSSH).
func toSign(kind string, body []byte) []byte {
	sum := sha512.Sum512(body)
	return append([]byte("SSHSIG"), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{"ccm-push-workers-" + kind, "", "sha512", sum[:]})...)
}

// Sign returns a message as signed JSON. The kind is part of the signature, so that no message is read as another kind.
func Sign(k Key, kind string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sig, err := k.signer.Sign(rand.Reader, toSign(kind, body))
	if err != nil {
		return nil, err
	}
	return json.Marshal(signed{body, k.signer.PublicKey().Marshal(), sig})
}

// A strangerError means that a message is signed by a key that is not on the list.
type strangerError struct{ key []byte }

func (e *strangerError) Error() string {
	key := publickey.Key{Blob: string(e.key)}
	return "it is signed by the key " + key.Fingerprint() + ", which is not on the list"
}

// IsStranger reports whether [Verify] failed because the key is not on the list.
func IsStranger(err error) bool {
	_, is := errors.AsType[*strangerError](err)
	return is
}

// NameOf returns the name of a list for hints. flag is the option that names the list.
func NameOf(list Keys, flag string) string {
	if f, is := list.(*KeyFile); is {
		return f.String()
	}
	return "the file of " + flag
}

// AdmitHint returns what to do if the unknown signer of a message may act; empty for any other error. flag names the list.
func AdmitHint(err error, list Keys, flag, may string) string {
	stranger, is := errors.AsType[*strangerError](err)
	if !is {
		return ""
	}
	key, err := ssh.ParsePublicKey(stranger.key)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("\n  hint: if this key may %s, add it to %s, which is read again at once: %s", may, NameOf(list, flag), bytes.TrimSpace(ssh.MarshalAuthorizedKey(key)))
}

// SignerOf returns the key that a message contains. Only [Verify] checks that the key signed the message.
func SignerOf(data []byte) string {
	var m signed
	_ = json.Unmarshal(data, &m)
	return string(m.Key)
}

// Verify reads a signed message, and returns the name of the signer in the list.
func Verify(ring Keyring, kind string, data []byte, v Message) (who string, err error) {
	var m signed
	if err := json.Unmarshal(data, &m); err != nil {
		return "", fmt.Errorf("reading a %s: %w", kind, err)
	}
	entry, known := ring[string(m.Key)]
	if !known {
		return "", &strangerError{m.Key}
	}
	who = entry.Name
	key, err := ssh.ParsePublicKey(m.Key)
	if err != nil || m.Signature == nil {
		return "", errors.New("the signature is not readable")
	}
	if err := key.Verify(toSign(kind, m.Body), m.Signature); err != nil {
		return "", fmt.Errorf("the signature of the %s is wrong: %w", kind, err)
	}
	if err := json.Unmarshal(m.Body, v); err != nil { // fields of other versions may be unknown: they are compared later
		return who, err
	}
	if err := v.Check(); err != nil {
		return who, fmt.Errorf("a %s has %w", kind, err)
	}
	return who, nil
}
