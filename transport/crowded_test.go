package transport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestCrowdedHostIsDialledAgain(t *testing.T) {
	srv := sshtest.Start(t, sshtest.Drop(3))
	require.NoError(t, dialOnce(t, &Dialer{}, targetOf(srv)))
	require.Equal(t, int64(4), srv.Stats().Connections)
}

// A host that never has room is told apart from one that is down, in bounded time.
func TestCrowdedForEver(t *testing.T) {
	srv := sshtest.Start(t, sshtest.Drop(1000))
	err := dialOnce(t, &Dialer{ConnectTimeout: shortTimeout}, targetOf(srv))
	require.True(t, Unreachable(err))
	require.Regexp(t, `^web1: handshake ADDR: the host closed the connection \([23] times in a row\)`+"\n"+
		`  hint: the log of its sshd says why: too many logins at once`, masked(err, srv.Addr, "ADDR"))
}

// What is no lack of room is not tried again.
func TestOtherHangUpsAreFinal(t *testing.T) {
	srv := sshtest.Start(t, sshtest.CloseAtBanner())
	require.Error(t, dialOnce(t, &Dialer{}, targetOf(srv)))
	require.Equal(t, int64(1), srv.Stats().Connections)
}
