package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// The settings of a [Target] that name files.
const (
	settingKeys         = "private_key"
	settingCertificates = "certificate"
	settingKnownHosts   = "known_hosts"
	settingRevoked      = "revoked_host_keys"
)

// A FileError is a file of the controller that a target names and that cannot
// be used, whatever its host would say.
type FileError struct {
	Setting string // private_key, certificate, known_hosts or revoked_host_keys
	Path    string
	Err     error
	Hint    string // what to do about it; may be empty
}

// Error is what is wrong, without the hint. Control characters are escaped.
func (e *FileError) Error() string {
	what := "private key"
	switch e.Setting {
	case settingCertificates:
		what = "certificate"
	case settingKnownHosts:
		what = "known hosts"
	case settingRevoked:
		what = "revoked host keys"
	}
	return printable(fmt.Sprintf("%s %s: %v", what, e.Path, e.Err))
}

func (e *FileError) Unwrap() error { return e.Err }

// remark is an error with its hint, as a part of a longer hint.
func remark(err error) string {
	if hint := hintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*FileError](err); ok {
		return e.Hint
	}
	return ""
}

// withoutPath is the cause of an error of package os.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// CheckFiles reads the files that t names, as Dial will, and gives those that
// are of no use. Jump hosts are targets of their own. A file is read once in the
// life of d.
func (d *Dialer) CheckFiles(t Target) []*FileError {
	var list []*FileError
	add := func(err error) {
		if e, ok := errors.AsType[*FileError](err); ok {
			list = append(list, e)
		}
	}
	usable := d.agentFor(t) != "" || t.Password != nil
	var unusable *keyFile
	var files []keyFile
	for _, path := range t.PrivateKeys {
		key, err := d.keys.load(expand(path, d.Home))
		if t.PrivateKeysOptional {
			usable = true
		} else {
			add(err)
		}
		switch {
		case key.signer != nil:
			usable = true
		case err == nil:
			unusable = &key
		}
		if err == nil {
			files = append(files, key)
		}
	}
	if unusable != nil && !usable {
		private := strings.TrimSuffix(unusable.path, ".pub")
		hint := "start one, and give it the key: eval $(ssh-agent) && ssh-add " + ShellWord(private)
		if private != unusable.path {
			hint = "name the private one, " + private + "; or " + hint
		}
		add(&FileError{
			Setting: settingKeys, Path: unusable.path, Hint: hint,
			Err: errors.New(unusable.why + ", and there is no agent to ask (SSH_AUTH_SOCK)"),
		})
	}
	_, err := d.keys.certificates(t, files, d.Home)
	add(err)
	if len(t.KnownHosts) > 0 || t.RevokedHostKeys != "" {
		_, err := d.openKnown(t)
		add(err)
	}
	return list
}

// ErrPassphrase is a passphrase that does not open its key file.
var ErrPassphrase = errors.New("the passphrase is wrong")

// LockedKeys gives the encrypted key files that Dial could use for t if it had
// their passphrases: those that t names and that the agent has no copy of. Default
// files count only if there is nothing else to log in with. The agent is asked
// once in the life of d.
func (d *Dialer) LockedKeys(ctx context.Context, t Target) []string {
	socket := d.agentFor(t)
	d.agents.load(ctx, socket)
	agent := d.agents.list(socket)
	files, err := d.keys.forTarget(t, d.Home)
	if err != nil || !t.uses(methodPublicKey) {
		return nil
	}
	if len(t.PrivateKeys) == 0 {
		open := slices.ContainsFunc(files, func(f keyFile) bool { return f.signer != nil })
		if open || !agent.empty() || t.Password != nil {
			return nil
		}
	}
	var list []string
	for _, f := range files {
		if f.locked && !agent.has(f.public) {
			list = append(list, f.path)
		}
	}
	return list
}

// Unlock opens an encrypted key file for the life of d. The error wraps
// [ErrPassphrase] if that is what is wrong.
func (d *Dialer) Unlock(path string, passphrase *Secret) error {
	return d.keys.unlock(path, passphrase)
}
