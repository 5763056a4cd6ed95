package dial

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestRefusedJumpLoginIsNotRepeated uses a jump host that refuses the password. It receives the password once, for any
// number of hosts and any length of the run.
func TestRefusedJumpLoginIsNotRepeated(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*transport.Target)
	}{
		{"the key", func(t *transport.Target) { t.User = "nobody" }},
		{"the password", func(t *transport.Target) { t.PrivateKeys, t.Password = nil, secret("wrong") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			gate := sshtest.Start(t)
			jumpHost := targetOf(gate)
			test.change(&jumpHost)
			srv := sshtest.Start(t)
			d := &Dialer{Home: t.TempDir()}
			defer d.Close()
			for range 3 {
				host := targetOf(srv)
				host.Jump = []transport.Target{jumpHost}
				require.ErrorIs(t, dialOnce(t, d, host), transport.ErrAuth)
				forgetful(d)
			}
			require.EqualValues(t, 1, gate.Stats().Connections)
		})
	}
}

// forgetful lets a long time pass since the failures of jump hosts.
func forgetful(d *Dialer) {
	d.jumps.mu.Lock()
	defer d.jumps.mu.Unlock()
	for _, routes := range d.jumps.routes {
		for _, r := range routes {
			for _, j := range r.conns {
				j.failed = time.Time{}
			}
		}
	}
}

// TestCrowdAtARefusingJumpHost has more hosts at once than share a connection.
func TestCrowdAtARefusingJumpHost(t *testing.T) {
	gate := sshtest.Start(t)
	jumpHost := targetOf(gate)
	jumpHost.PrivateKeys, jumpHost.Password = nil, secret("wrong")
	d := &Dialer{Home: t.TempDir()}
	defer d.Close()
	var crowd sync.WaitGroup
	for range 2*maxSlots + 1 {
		crowd.Go(func() {
			_, err := d.jump(t.Context(), []transport.Target{jumpHost})
			if !errors.Is(err, transport.ErrAuth) {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
	require.EqualValues(t, 1, gate.Stats().Connections)
}
