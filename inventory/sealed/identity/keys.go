package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"filippo.io/age"
)

// Variable names the file of keys in the environment, as --age-identity does.
const Variable = "CCM_AGE_IDENTITY"

// Keys are the private keys of an operator. They are read when they are first needed, once, and
// may be used by many goroutines at once.
type Keys struct {
	Files []string // named files; if empty, the existing files of [Keys.Usual]
	Home  string   // folder for ~/
	// Getenv returns variables of the environment.
	Getenv func(string) string
	// Passphrase prompts for the passphrase of a file; again reports that the last one was wrong. A nil function or a
	// nil answer means that there is no passphrase.
	Passphrase func(path string, again bool) ([]byte, error)

	once  sync.Once
	held  []held
	notes []string // problems of the usual files
	err   error

	asking  sync.Mutex // there is one terminal
	mu      sync.Mutex
	unasked error // see [Keys.Failed]
}

// A held key is one, and where it is from.
type held struct {
	path, public string // public is set for SSH keys, as in authorized_keys, without comment
	identity     age.Identity
}

// Usual returns the files that are tried if none is named.
func (k *Keys) Usual() []string {
	config := k.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(k.Home, ".config")
	}
	paths := []string{
		filepath.Join(k.Home, ".ssh", "id_ed25519"),
		filepath.Join(k.Home, ".ssh", "id_rsa"),
		filepath.Join(config, "age", "keys.txt"),
		filepath.Join(config, "sops", "age", "keys.txt"),
	}
	if sops := k.Getenv("SOPS_AGE_KEY_FILE"); sops != "" {
		paths = append(paths, sops)
	}
	return paths
}

// Paths returns the existing files that are read.
func (k *Keys) Paths() []string {
	if len(k.Files) > 0 {
		return k.Files
	}
	return k.Usual()
}

// All returns the keys.
func (k *Keys) All() ([]age.Identity, error) {
	k.once.Do(k.read)
	if k.err != nil {
		return nil, k.err
	}
	list := make([]age.Identity, len(k.held))
	for i, h := range k.held {
		list[i] = h.identity
	}
	return list, nil
}

// Tried describes the files that were read, for an error that none of their keys fits.
func (k *Keys) Tried() string {
	k.once.Do(k.read)
	var paths []string
	for _, h := range k.held {
		if len(paths) == 0 || paths[len(paths)-1] != h.path {
			paths = append(paths, h.path)
		}
	}
	text := "no private key in " + strings.Join(k.Usual(), ", ")
	if len(paths) > 0 {
		text = "tried " + strings.Join(paths, ", ")
	}
	if len(k.notes) > 0 {
		text += "; " + strings.Join(k.notes, "; ")
	}
	if k.Getenv("SSH_AUTH_SOCK") != "" {
		text += "; a key that only an SSH agent holds cannot decrypt: name its file with --age-identity"
	}
	return text
}

// PublicOf returns the public keys in the files that are known without a passphrase.
func (k *Keys) PublicOf() []string {
	k.once.Do(k.read)
	var list []string
	for _, h := range k.held {
		if h.public != "" {
			list = append(list, h.public)
		}
	}
	return list
}

func (k *Keys) read() {
	if len(k.Files) > 0 {
		for _, path := range k.Files {
			found, err := k.file(path)
			if err != nil {
				k.err = errors.Join(k.err, fmt.Errorf("age identity %s: %w", path, err))
			}
			k.held = append(k.held, found...)
		}
		return
	}
	for _, path := range k.Usual() {
		found, err := k.file(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			k.notes = append(k.notes, path+": "+strings.ReplaceAll(err.Error(), "\n  hint: ", "; "))
		}
		k.held = append(k.held, found...)
	}
	for _, name := range []string{"id_ecdsa", "id_ed25519_sk", "id_ecdsa_sk"} {
		if path := filepath.Join(k.Home, ".ssh", name); exists(path) {
			k.notes = append(k.notes, path+" is of a type that cannot decrypt")
		}
	}
}
