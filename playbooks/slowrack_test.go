package playbooks

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestSlowRack puts a rack of hosts before all others that accept connections and send nothing, as kernels with hanging
// disks do. The rack has more hosts than may connect at once, and the host after them is done before any of them is
// given up.
func TestSlowRack(t *testing.T) {
	const rack = 130
	srv := sshtest.Start(t)
	w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, "ccm: {resources: [exec: [\"true\": {}]]}\n")
	list := "all:\n  hosts:\n"
	for i := range rack + 1 {
		name, address := fmt.Sprint("slow", i), fmt.Sprint("192.0.2.", i)
		if i == rack {
			name, address = "web1", srv.Host
		}
		list += fmt.Sprintf("    %s: {connect: {address: %s, port: %d, user: %s, private_key: %q, known_hosts: %q}}\n", name, address, srv.Port, srv.User, srv.KeyFile, srv.KnownHosts)
	}
	var err error
	w.Inventory, err = inventory.Parse("hosts.yaml", []byte(list))
	require.NoError(t, err)
	w.Dialer = &dial.Dialer{Retries: -1, Limits: transport.Limits{Handshake: 3 * time.Second}, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(addr); host != srv.Host {
			near, far := net.Pipe()
			go io.Copy(io.Discard, far)
			return near, nil
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	_, err = w.Run(t.Context(), nil)
	require.NoError(t, err)
	var ended []string
	for _, e := range w.recorded.list {
		if done, ok := e.(events.HostDone); ok {
			ended = append(ended, done.Host)
		}
	}
	require.Len(t, ended, rack+1)
	require.Equal(t, "web1", ended[0])
}
