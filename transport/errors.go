package transport

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// Failures that callers distinguish. A [HostError] wraps each.
var (
	ErrHostKeyUnknown = knownhosts.ErrUnknown                            // passes once the key is trusted
	ErrHostKeyChanged = knownhosts.ErrChanged                            // needs a person
	ErrHostKeyRevoked = knownhosts.ErrRevoked                            // final
	ErrAuth           = errors.New("authentication refused")             // the host answered; may pass once it is provisioned
	ErrPassphrase     = errors.New("the passphrase is wrong")            // passphrase of a key file
	ErrTimeout        = errors.New("timed out")                          // trying again may help
	ErrLost           = errors.New("the connection was lost")            // trying again may help
	ErrNoSession      = errors.New("the host opens no further session")  // passes once another one of the connection has ended
	ErrNoSpace        = errors.New("no space left on the host")          // passes once there is room
	ErrNoBuild        = errors.New("no build for this host")             // final for this program
	ErrBecome         = errors.New("escalation refused")                 // passes once the user may escalate
	ErrNotModule      = errors.New("the host program did not answer")    // something else did, or nothing
	ErrInstall        = errors.New("the host program was not installed") // the host is to blame
)

// The steps a [HostError] can name.
const (
	OpDial         = "dial"
	OpHandshake    = "handshake"
	OpHostKey      = "host key"
	OpAuthenticate = "authenticate"
	OpBecome       = "become"
	OpInstall      = "install"
	OpStart        = "start"
)

// A HostError names the host that failed, the step and the reason.
type HostError struct {
	Host string // inventory name
	Op   string // dial, handshake, host key, authenticate, become, install, start
	Addr string // host:port that was talked to
	Err  error
	Hint string // next step for the user; may be empty
	// Via is the failure of the jump host that could not be reached; nil if the host itself failed.
	Via *HostError
}

// Error is "host: step address: cause", and the hint on a line of its own.
// Control characters are escaped: parts of the cause may come from the host.
func (e *HostError) Error() string {
	s := e.summary()
	if e.Hint != "" {
		s += "\n  hint: " + printable(e.Hint)
	}
	return s
}

func (e *HostError) summary() string {
	return printable(e.Host + ": " + e.Cause())
}

// Cause is "step address: cause", without the host and the hint. All hosts behind
// a jump host that could not be reached have the same: "jump host name: step
// address: cause". It may have control characters.
func (e *HostError) Cause() string {
	if e.Via != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s %s: %v", e.Op, e.Addr, e.Err)
}

func (e *HostError) Unwrap() error { return e.Err }

// Unreachable reports whether err means that no session could be opened: the host did not answer, did not prove its
// identity, or refused the login.
func Unreachable(err error) bool {
	e, ok := errors.AsType[*HostError](err)
	if !ok {
		return false
	}
	switch e.Op {
	case OpDial, OpHandshake, OpHostKey, OpAuthenticate:
		return true
	}
	return false
}

// An ExitError is a process on the host that ended otherwise than with 0.
type ExitError struct {
	Code   int    // 0 if a signal ended it
	Signal string // without SIG; "" if none did
	Stderr string // standard error; both ends if it is longer than 64 KiB
}

// Error shows the last line of standard error.
func (e *ExitError) Error() string {
	s := "exit status " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		s = "killed by signal " + e.Signal
	}
	if line := LastLine(e.Stderr); line != "" {
		s += ": " + printable(line)
	}
	return s
}

// LastLine is the last line of s that is not blank.
func LastLine(s string) string {
	s = strings.TrimRight(s, "\r\n\t ")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

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
	Hint    string // next step for the user; may be empty
}

// Error returns the fault, without the hint. Control characters are escaped.
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

// HintOf returns the hint of a [FileError]; "" for any other error.
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

// ends are the errors of a connection or a pipe whose other end is closed.
var ends = []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, fs.ErrClosed, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE}

func isEnd(err error) bool {
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

// IsHangUp reports whether the connection ended, rather than was refused.
func IsHangUp(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	return isNet || isEnd(err)
}

// HangUpCause returns a sentence for an end of file or a reset. x/crypto closes the connection itself when
// it cannot write, and may report that.
func HangUpCause(err error) error {
	if isEnd(err) {
		return errors.New("the host closed the connection")
	}
	return WithoutHandshake(err)
}

// WithoutHandshake drops what x/crypto puts before every error of a login.
func WithoutHandshake(err error) error {
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "ssh: handshake failed: ") {
		return cause
	}
	return err
}
