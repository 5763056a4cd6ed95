package transport

import (
	"bytes"
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
)

// A keyFile is a private key file that was read. signer is nil if the file is
// encrypted or of no use; remark then says so.
type keyFile struct {
	name   string // base name
	path   string
	public ssh.PublicKey
	signer ssh.Signer
	remark string
}

// keyFiles reads each private key file once.
type keyFiles struct {
	mu   sync.Mutex
	read map[string]keyFileResult
}

type keyFileResult struct {
	key keyFile
	err error
}

var defaultKeyFiles = []string{".ssh/id_ed25519", ".ssh/id_ecdsa", ".ssh/id_rsa"}

// forTarget reads the key files for t. One that t names must be usable, or
// encrypted; a default one may be missing.
func (k *keyFiles) forTarget(t Target, home string) ([]keyFile, error) {
	var files []keyFile
	for _, path := range t.PrivateKeys {
		key, err := k.load(expand(path, home))
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

func readKeyFile(path string) (keyFile, error) {
	fail := func(err error) error { return &FileError{Setting: settingKeys, Path: path, Err: withoutPath(err)} }
	// Before opening it: a named pipe would make us wait.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return keyFile{}, fail(err)
	case !info.Mode().IsRegular():
		return keyFile{}, fail(errors.New("it is no regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return keyFile{}, fail(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return keyFile{}, fail(err)
	}
	if exposed(info) && !isPublicKey(text) {
		return keyFile{}, &FileError{
			Setting: settingKeys, Path: path, Hint: "chmod 600 " + shellWord(path),
			Err: fmt.Errorf("its mode %04o lets others read it", info.Mode().Perm()),
		}
	}
	return parseKeyFile(path, text)
}

// maxKeyFile is far above the size of any private key, in bytes.
const maxKeyFile = 64 << 10

// exposed follows ssh(1): a key of ours that others can read is no secret. The
// owner of somebody else's file knows what he does.
func exposed(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0
}

func parseKeyFile(path string, text []byte) (keyFile, error) {
	key := keyFile{name: filepath.Base(path), path: path}
	signer, err := ssh.ParsePrivateKey(text)
	if missing, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		key.public = missing.PublicKey
		if key.public == nil {
			key.public = readPublicKey(path + ".pub")
		}
		key.remark = key.name + " is encrypted; add it to the agent (ssh-add " + shellWord(path) + ")"
		return key, nil
	}
	if err != nil {
		return keyFile{}, &FileError{Setting: settingKeys, Path: path, Err: err, Hint: noKeyHint(path, text)}
	}
	key.public, key.signer = signer.PublicKey(), signer
	return key, nil
}

// noKeyHint recognises what people name instead of a private key.
func noKeyHint(path string, text []byte) string {
	if bytes.HasPrefix(text, []byte("PuTTY-User-Key-File")) {
		return "it is PuTTY's; write it anew with puttygen -O private-openssh-new"
	}
	if isPublicKey(text) {
		return "it is the public key; name the private one, " + strings.TrimSuffix(path, ".pub")
	}
	return "name a private key as ssh-keygen writes it"
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
