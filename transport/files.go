package transport

import (
	"errors"
	"fmt"
	"io/fs"
)

// The settings of a [Target] that name files.
const (
	settingKeys       = "private_key"
	settingKnownHosts = "known_hosts"
)

// A FileError is a file of the controller that a target names and that cannot
// be used, whatever its host would say.
type FileError struct {
	Setting string // private_key or known_hosts
	Path    string
	Err     error
	Hint    string // what to do about it; may be empty
}

// Error is what is wrong, without the hint. Control characters are escaped.
func (e *FileError) Error() string {
	what := "private key"
	if e.Setting == settingKnownHosts {
		what = "known hosts"
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
	var locked *keyFile
	usable := d.AgentSocket != ""
	for _, path := range t.PrivateKeys {
		key, err := d.keys.load(expand(path, d.Home))
		add(err)
		switch {
		case key.signer != nil:
			usable = true
		case err == nil:
			locked = &key
		}
	}
	if locked != nil && !usable {
		add(&FileError{
			Setting: settingKeys, Path: locked.path, Err: errors.New("it is encrypted, and there is no agent to ask (SSH_AUTH_SOCK)"),
			Hint: "start one, and give it the key: eval $(ssh-agent) && ssh-add " + shellWord(locked.path),
		})
	}
	if len(t.KnownHosts) > 0 {
		_, err := d.known.open(t.knownHosts(d.Home))
		add(err)
	}
	return list
}
