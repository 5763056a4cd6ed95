// Package natstest runs a server of NATS in the process of a test.
package natstest

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// Start runs a server with JetStream on a port of the loopback address until the test ends, and returns its URL. Each
// function in changes may change its options; its data are in a folder of the test.
func Start(t testing.TB, changes ...func(*server.Options)) string {
	t.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	for _, change := range changes {
		change(opts)
	}
	srv, err := server.NewServer(opts)
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { Stop(t, srv) })
	require.True(t, srv.ReadyForConnections(time.Minute))
	return srv.ClientURL()
}

// Stop shuts a server down and removes its folder. JetStream may write for a moment after the shutdown, and [testing.T.TempDir] fails
// if a file appears while it removes the folder.
func Stop(t testing.TB, srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
	require.Eventually(t, func() bool { return os.RemoveAll(srv.StoreDir()) == nil }, time.Minute, 10*time.Millisecond)
}
