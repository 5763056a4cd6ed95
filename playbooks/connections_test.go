package playbooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestConnections(t *testing.T) {
	srv := sshtest.Start(t)
	d := &dial.Dialer{}
	connect := func() *transport.Client {
		client, err := d.Dial(t.Context(), transport.Target{
			Host: "web1", Address: srv.Host, Port: srv.Port, User: srv.User, PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
		})
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
	ended := func(client *transport.Client) bool {
		select {
		case <-client.Done():
			return true
		default:
			return false
		}
	}
	c := &Connections{}
	first, second, third := connect(), connect(), connect()
	require.True(t, c.keep("web1", first, d, 2))
	require.False(t, c.keep("web1", second, d, 2), "it has one")
	require.True(t, c.keep("web2", second, d, 2))
	require.False(t, c.keep("web3", third, d, 2), "there are enough")
	require.Nil(t, c.take("web3"))
	require.Same(t, first, c.take("web1"))
	require.Nil(t, c.take("web1"))

	c.CloseDialer(d)
	waits := c.kept["web2"]
	c.drop("web1", &connection{client: first})
	require.False(t, ended(first), "it is in use")
	c.drop("web2", waits)
	<-second.Done()
	require.Nil(t, c.take("web2"))

	require.True(t, c.keep("web3", third, &dial.Dialer{}, 2))
	first.Close()
	c.Close()
	require.True(t, ended(third))
	require.False(t, c.keep("web1", connect(), d, 2), "the run is over")

	var none *Connections
	require.False(t, none.keep("web1", first, d, 2))
	require.Nil(t, none.take("web1"))
	require.Greater(t, waitsAtMost, time.Minute)
}
