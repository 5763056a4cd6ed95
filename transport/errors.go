package transport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// What went wrong, for decisions. Each is wrapped by a [HostError].
var (
	ErrHostKeyUnknown = knownhosts.ErrUnknown                      // passes once the key is trusted
	ErrHostKeyChanged = knownhosts.ErrChanged                      // needs a person
	ErrHostKeyRevoked = knownhosts.ErrRevoked                      // final
	ErrAuth           = errors.New("authentication refused")       // the host answered; may pass once it is provisioned
	ErrPassphrase     = errors.New("the passphrase is wrong")      // of a key file
	ErrTimeout        = errors.New("timed out")                    // trying again may help
	ErrLost           = errors.New("the connection was lost")      // trying again may help
	ErrNoSpace        = errors.New("no space left on the host")    // passes once there is room
	ErrNoBuild        = errors.New("no build for this host")       // final for this program
	ErrBecome         = errors.New("escalation refused")           // passes once the user may escalate
	ErrNotModule      = errors.New("the module did not answer")    // something else did, or nothing
	ErrInstall        = errors.New("the module was not installed") // the host is to blame
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

// A HostError says which host failed at which step, and why.
type HostError struct {
	Host string // inventory name
	Op   string // dial, handshake, host key, authenticate, become, install, start
	Addr string // host:port that was talked to
	Err  error
	Hint string // what to do about it; may be empty
	// Via is what is wrong with the jump host that could not be reached; nil if the
	// host itself was.
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

// Unreachable reports whether err says that no session could be opened: the
// host did not answer, did not prove who it is, or did not let us in.
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
	Stderr string // of more than 64 KiB the two ends
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
