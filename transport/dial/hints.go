package dial

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// Hints for hosts that fail before the login.

func timeoutHint(op string, cause error) string {
	switch {
	case !errors.Is(cause, transport.ErrTimeout):
		return ""
	case op == transport.OpDial:
		return "is the address right, and does a firewall drop the packets?"
	case op == transport.OpHandshake:
		return "the port accepted the connection, but no SSH server answered in time: does sshd use this port?"
	case op == transport.OpAuthenticate:
		return "the login on the host is slow, or an SSH agent waits for a person; allow more time to connect"
	}
	return ""
}

// dialHint returns "" if the error needs no hint.
func dialHint(t transport.Target, err error) string {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	far, isFar := errors.AsType[*behindJumpError](err)
	switch {
	case isFar:
		return far.hint(t)
	case isDNS && dns.IsNotFound:
		return fmt.Sprintf("if %q is only a name in the inventory, add the address of the host: connect: {address: ...}", t.Address)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no program listens on port %d: is sshd running, and does it use this port?", t.TCPPort())
	case errors.Is(err, syscall.ETIMEDOUT):
		return timeoutHint(transport.OpDial, transport.ErrTimeout)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "is the host up, and is there a way to its network from here?"
	}
	return ""
}

func handshakeHint(err error) string {
	_, disagreed := errors.AsType[*ssh.AlgorithmNegotiationError](err)
	switch {
	case disagreed:
		return ""
	case transport.IsHangUp(err):
		return "see the log of sshd on the host: sshd may limit simultaneous logins (MaxStartups) or refuse your address"
	}
	return noServerHint
}

const noServerHint = "does an SSH server listen on this port, and does the server allow so many logins at once (sshd_config: MaxStartups)?"

// dialCause removes the address, which a HostError has, and the system call.
func dialCause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.Server != "" {
		return fmt.Errorf("%s (from DNS server %s)", e.Err, e.Server)
	} else if ok {
		return errors.New(e.Err)
	}
	return err
}
