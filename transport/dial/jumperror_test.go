package dial

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// TestFarErrors has a jump host that is well say why it did not connect.
func TestFarErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		reason ssh.RejectionReason
		said   string
		err    string
	}{
		{"OpenSSH", ssh.ConnectionFailed, "Connection refused",
			"web1: dial w:2222: connection refused, seen from gate\n  hint: nothing listens there: is sshd running, and is 2222 its port?"},
		{"one in Go", ssh.ConnectionFailed, "dial tcp 10.0.0.1:22: connect: connection refused",
			"web1: dial w:2222: connection refused, seen from gate\n  hint: nothing listens there: is sshd running, and is 2222 its port?"},
		{"host is down", ssh.ConnectionFailed, "No route to host",
			"web1: dial w:2222: no route to host, seen from gate\n  hint: is the host up, and is there a way to its network from gate?"},
		{"no network", ssh.ConnectionFailed, "Network is unreachable",
			"web1: dial w:2222: network is unreachable, seen from gate\n  hint: is the host up, and is there a way to its network from gate?"},
		{"a firewall", ssh.ConnectionFailed, "Connection timed out",
			"web1: dial w:2222: connection timed out, seen from gate\n  hint: is the address right, and does a firewall drop the packets?"},
		{"something else", ssh.ConnectionFailed, "\x1b[2J: refused", `web1: dial w:2222: connect failed, seen from gate: "\x1b[2J: refused"`},
		{"nothing", ssh.ConnectionFailed, "", `web1: dial w:2222: connect failed, seen from gate: ""`},
		{"may not", ssh.Prohibited, "open failed", `web1: dial w:2222: not forwarded by gate: administratively prohibited: "open failed"` +
			"\n  hint: does gate let this user connect to other hosts (sshd_config: AllowTcpForwarding, PermitOpen)?"},
		{"may not, in other words", ssh.ResourceShortage, "connection refused", `web1: dial w:2222: not forwarded by gate: resource shortage: "connection refused"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := transport.Target{Host: "web1", Address: "w", Port: 2222}
			far := &behindJumpError{"gate", &ssh.OpenChannelError{Reason: test.reason, Message: test.said}}
			err := target.Fail(transport.OpDial, dialCause(far), dialHint(target, far))
			require.EqualError(t, err, test.err)
			require.ErrorAs(t, err, new(*ssh.OpenChannelError)) // which decides about retries
		})
	}
}
