package dial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestApartSharesNoConnection dials a host behind a jump host twice: the proof that the host can still be reached must
// not use connections that the hosts of a run share.
func TestApartSharesNoConnection(t *testing.T) {
	srv, jump := sshtest.Start(t), sshtest.Start(t)
	target := targetOf(srv)
	target.Jump = []transport.Target{targetOf(jump)}
	d := &Dialer{}
	defer d.Close()
	require.NoError(t, dialOnce(t, d, target))
	require.NoError(t, dialOnce(t, d, target))
	require.EqualValues(t, 1, jump.Stats().Connections, "hosts of a run share it")
	apart := d.Apart()
	require.NoError(t, dialOnce(t, apart, target))
	require.EqualValues(t, 2, jump.Stats().Connections)
	require.EqualValues(t, 3, srv.Stats().Connections)
	require.NoError(t, apart.Close())
	require.NoError(t, dialOnce(t, d, target), "the other one goes on")
	require.EqualValues(t, 2, jump.Stats().Connections)
	require.Same(t, d, apart.Apart().files())
}
