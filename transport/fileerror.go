package transport

import (
	"errors"
	"fmt"
	"io/fs"
)

// The settings of a [Target] that name files.
const (
	SettingPrivateKey  = "private_key"
	SettingCertificate = "certificate"
	SettingKnownHosts  = "known_hosts"
	SettingRevoked     = "revoked_host_keys"
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
	case SettingCertificate:
		what = "certificate"
	case SettingKnownHosts:
		what = "known hosts"
	case SettingRevoked:
		what = "revoked host keys"
	}
	return printable(fmt.Sprintf("%s %s: %v", what, e.Path, e.Err))
}

func (e *FileError) Unwrap() error { return e.Err }

// HintOf is what to do about a [FileError]; "" for any other error.
func HintOf(err error) string {
	if e, ok := errors.AsType[*FileError](err); ok {
		return e.Hint
	}
	return ""
}

// WithoutPath is the cause of an error of package os.
func WithoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
