package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// A keyFile is a private key file that was read. signer is nil if the file cannot sign by itself; remark is the reason.
// If the agent has the key, the agent signs.
type keyFile struct {
	name   string // base name
	path   string
	public ssh.PublicKey
	signer ssh.Signer
	locked bool   // a passphrase would make it sign
	why    string // it cannot sign: it is encrypted
	remark string
}

// keyFiles reads each private key file, and each certificate, once.
type keyFiles struct {
	mu    sync.Mutex
	read  map[string]keyFileResult
	certs map[string]certificateResult
}

type keyFileResult struct {
	key keyFile
	err error
}

var defaultKeyFiles = []string{".ssh/id_ed25519", ".ssh/id_ecdsa", ".ssh/id_rsa"}

// forTarget reads the key files for t. One that t names must be usable, or stand
// for the agent's copy, unless that is optional; a default one may be missing.
func (k *keyFiles) forTarget(t transport.Target, home string) ([]keyFile, error) {
	var files []keyFile
	for _, path := range t.PrivateKeys {
		key, err := k.load(transport.ExpandHome(path, home))
		if err != nil && t.PrivateKeysOptional {
			key, err = k.instead(transport.ExpandHome(path, home), err), nil
		}
		if err != nil {
			return nil, err
		}
		files = append(files, key)
	}
	if len(t.PrivateKeys) > 0 || home == "" {
		return files, nil
	}
	for _, name := range defaultKeyFiles {
		key, err := k.load(filepath.Join(home, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			files = append(files, keyFile{name: filepath.Base(name), remark: remark(err)})
		default:
			files = append(files, key)
		}
	}
	return files, nil
}

// instead of a file that is of no use there may be its public key, whose private
// one the agent has.
func (k *keyFiles) instead(path string, err error) keyFile {
	if key, publicErr := k.load(path + ".pub"); errors.Is(err, fs.ErrNotExist) && publicErr == nil {
		key.path = path // where its certificate lies too
		return key
	}
	return keyFile{name: filepath.Base(path), remark: remark(err)}
}

func (k *keyFiles) load(path string) (keyFile, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.read[path]
	if !ok {
		r.key, r.err = readKeyFile(path)
		if k.read == nil {
			k.read = make(map[string]keyFileResult)
		}
		k.read[path] = r
	}
	return r.key, r.err
}

// unlock makes an encrypted file sign.
func (k *keyFiles) unlock(path string, passphrase *transport.Secret) error {
	text, _, err := readSmall(path)
	if err != nil {
		return &transport.FileError{Setting: transport.SettingPrivateKey, Path: path, Err: err}
	}
	signer, err := ssh.ParsePrivateKeyWithPassphrase(text, passphrase.Reveal())
	if errors.Is(err, x509.IncorrectPasswordError) {
		err = transport.ErrPassphrase
	}
	if err != nil {
		return &transport.FileError{Setting: transport.SettingPrivateKey, Path: path, Err: err}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read == nil {
		k.read = make(map[string]keyFileResult)
	}
	k.read[path] = keyFileResult{key: keyFile{name: filepath.Base(path), path: path, public: signer.PublicKey(), signer: signer}}
	return nil
}

func readKeyFile(path string) (keyFile, error) {
	text, info, err := readSmall(path)
	if err != nil {
		return keyFile{}, &transport.FileError{Setting: transport.SettingPrivateKey, Path: path, Err: err}
	}
	if exposed(info) && !isPublicKey(text) {
		return keyFile{}, &transport.FileError{
			Setting: transport.SettingPrivateKey, Path: path, Hint: "run: chmod 600 " + transport.ShellWord(path),
			Err: fmt.Errorf("its mode %04o lets other users read it", info.Mode().Perm()),
		}
	}
	return parseKeyFile(path, text)
}

// readSmall reads a regular file of the size that keys have.
func readSmall(path string) ([]byte, fs.FileInfo, error) {
	// Before opening it: a named pipe would make us wait.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, transport.WithoutPath(err)
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, transport.WithoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	return text, info, err
}

// maxKeyFile is far above the size of any private key, in bytes.
const maxKeyFile = 64 << 10

// exposed follows ssh(1): a key file of the user that others can read is not secret. Files of other owners are not
// checked.
func exposed(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0
}

// parseKeyFile reads a private key. A file that names a key but cannot sign is used to find the agent's copy: an
// encrypted file, the handle of a key in hardware, a public key.
func parseKeyFile(path string, text []byte) (keyFile, error) {
	key := keyFile{name: filepath.Base(path), path: path}
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		key.public, key.signer = signer.PublicKey(), signer
		return key, nil
	}
	add := "add it to the agent (ssh-add " + transport.ShellWord(path) + ")"
	if missing, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		key.public = missing.PublicKey
		if key.public == nil {
			key.public = readPublicKey(path + ".pub")
		}
		key.locked, key.why = !isHardware(key.public), "the key is encrypted"
		key.remark = key.name + " is encrypted; " + add
		return key, nil
	}
	if public := publicPart(text); isHardware(public) {
		key.public, key.why = public, "the key is in a hardware security key, which needs an SSH agent"
		key.remark = key.name + " is for a security key; " + add
		return key, nil
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		key.public, key.why = public, "the file is a public key"
		key.remark = key.name + " is a public key, and the agent does not have its private one"
		return key, nil
	}
	return keyFile{}, &transport.FileError{Setting: transport.SettingPrivateKey, Path: path, Err: err, Hint: noKeyHint(text)}
}

// isHardware reports whether a FIDO device holds the key (PROTOCOL.u2f).
func isHardware(key ssh.PublicKey) bool {
	return key != nil && strings.HasPrefix(key.Type(), "sk-")
}

// publicPart returns the public key that a private key file in OpenSSH's own format contains unencrypted
// (PROTOCOL.key), or nil.
func publicPart(text []byte) ssh.PublicKey {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "OPENSSH PRIVATE KEY" {
		return nil
	}
	rest, ok := bytes.CutPrefix(block.Bytes, []byte("openssh-key-v1\x00"))
	if !ok {
		return nil
	}
	var file struct {
		Cipher, KDF, KDFOptions string
		Keys                    uint32
		Public                  []byte
		Rest                    []byte `ssh:"rest"`
	}
	if ssh.Unmarshal(rest, &file) != nil || file.Keys != 1 {
		return nil
	}
	key, err := ssh.ParsePublicKey(file.Public)
	if err != nil {
		return nil
	}
	return key
}

// noKeyHint recognises what people name instead of a private key.
func noKeyHint(text []byte) string {
	if bytes.HasPrefix(text, []byte("PuTTY-User-Key-File")) {
		return "it has the format of PuTTY; convert it with puttygen -O private-openssh-new"
	}
	return "name a private key file, such as ~/.ssh/id_ed25519"
}

func isPublicKey(text []byte) bool {
	_, _, _, _, err := ssh.ParseAuthorizedKey(text)
	return err == nil
}

// readPublicKey is for old key formats, which hide the public key too.
func readPublicKey(path string) ssh.PublicKey {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return key
}

// remark is an error with its hint, as a part of a longer hint.
func remark(err error) string {
	if hint := transport.HintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}
