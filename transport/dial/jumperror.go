package dial

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// A behindJumpError is that a jump host which is well could not connect to what lies
// behind it, or would not.
type behindJumpError struct {
	jump string // its name
	err  *ssh.OpenChannelError
}

// Error begins with what hosts that suffer from the same thing have in common. What
// the jump host says is shown as it is only if it is one of connectCauses.
func (e *behindJumpError) Error() string {
	cause, _ := e.cause()
	switch {
	case cause != "":
		return fmt.Sprintf("%s, seen from %s", cause, e.jump)
	case e.err.Reason == ssh.ConnectionFailed:
		return fmt.Sprintf("connect failed, seen from %s: %q", e.jump, e.err.Message)
	}
	return fmt.Sprintf("not forwarded by %s: %s: %q", e.jump, e.err.Reason, e.err.Message)
}

func (e *behindJumpError) Unwrap() error { return e.err }

// connectCauses are the words of strerror(3) for what stops a connection.
var connectCauses = map[string]syscall.Errno{
	"connection refused":     syscall.ECONNREFUSED,
	"no route to host":       syscall.EHOSTUNREACH,
	"network is unreachable": syscall.ENETUNREACH,
	"connection timed out":   syscall.ETIMEDOUT,
}

// cause is "" if the jump host says something else. OpenSSH sends the bare cause,
// others say before it what they did.
func (e *behindJumpError) cause() (string, syscall.Errno) {
	if e.err.Reason != ssh.ConnectionFailed {
		return "", 0
	}
	said := strings.ToLower(e.err.Message[strings.LastIndexByte(e.err.Message, ':')+1:])
	said = strings.TrimSpace(said)
	errno, known := connectCauses[said]
	if !known {
		return "", 0
	}
	return said, errno
}

// hint is what to do about a target that the jump host did not connect to.
func (e *behindJumpError) hint(t transport.Target) string {
	switch _, errno := e.cause(); {
	case errno == syscall.EHOSTUNREACH, errno == syscall.ENETUNREACH:
		return fmt.Sprintf("is the host up, and is there a way to its network from %s?", e.jump)
	case errno != 0:
		return dialHint(t, errno)
	case e.err.Reason == ssh.Prohibited:
		return fmt.Sprintf("does %s let this user connect to other hosts (sshd_config: AllowTcpForwarding, PermitOpen)?", e.jump)
	}
	return ""
}
