// Package natstest runs a server of NATS in the process of a test.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// Start runs a server with JetStream on a port of the loopback address until the test ends, and gives
// its URL. Each change may change how it runs; what it stores is in a folder of the test.
func Start(t testing.TB, changes ...func(*server.Options)) string {
	t.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	for _, change := range changes {
		change(opts)
	}
	srv, err := server.NewServer(opts)
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	require.True(t, srv.ReadyForConnections(time.Minute))
	return srv.ClientURL()
}
