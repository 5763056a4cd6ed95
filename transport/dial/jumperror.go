package dial

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// A behindJumpError reports that a working jump host could not connect to the next host, or refused to.
type behindJumpError struct {
	jump string // its name
	err  *ssh.OpenChannelError
}

// Error begins with the part that all affected hosts share. It shows the jump host's own text only if that is one of
// connectCauses.
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

// connectCauses maps the words of strerror(3) to the errors of connect(2).
var connectCauses = map[string]syscall.Errno{
	"connection refused":     syscall.ECONNREFUSED,
	"no route to host":       syscall.EHOSTUNREACH,
	"network is unreachable": syscall.ENETUNREACH,
	"connection timed out":   syscall.ETIMEDOUT,
}

// cause returns "" if the jump host sends another text. OpenSSH sends the bare cause; other servers put their own words
// before it.
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

// hint returns the hint for a target that the jump host could not connect to.
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
