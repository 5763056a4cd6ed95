package knownhosts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Faults of a host key.
var (
	ErrUnknown = errors.New("the host key is unknown")  // passes once the key is trusted
	ErrChanged = errors.New("the host key has changed") // needs a person
	ErrRevoked = errors.New("the host key is revoked")  // final
)

// ErrNoFile reports that [Files] has no file to add a key to.
var ErrNoFile = errors.New("no known_hosts file to add the key to")

// A ChangedError wraps [ErrChanged] and names the lines that hold other keys of the
// host.
type ChangedError struct {
	Key   ssh.PublicKey
	Lines []string // FILE:LINE
	Also  error    // why its certificate is of no use either; may be nil
}

// Error returns the fingerprint of the key and the lines.
func (e *ChangedError) Error() string {
	text := fmt.Sprintf("%v: %s is not the key in %s", ErrChanged, Fingerprint(e.Key), strings.Join(e.Lines, ", "))
	if e.Also != nil {
		text += fmt.Sprintf(", and %v", e.Also)
	}
	return text
}

func (e *ChangedError) Unwrap() error { return ErrChanged }

// A FileError is a file that cannot be used.
type FileError struct {
	Path    string
	Revoked bool // file of revoked keys
	Err     error
	Hint    string // next step for the user; may be empty
}

// Error returns the fault, without the hint.
func (e *FileError) Error() string {
	what := "known hosts"
	if e.Revoked {
		what = "revoked host keys"
	}
	return fmt.Sprintf("%s %s: %v", what, e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// withoutPath is the cause of an error of package os.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
