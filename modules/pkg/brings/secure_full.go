//go:build full

package brings

import (
	"context"
	"crypto/tls"
	"net"
)

// secure begins TLS, and verifies the server by the certificates of the system.
func secure(ctx context.Context, conn net.Conn, host string) (net.Conn, error) {
	c := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	return c, c.HandshakeContext(ctx)
}
