//go:build !full

package brings

import (
	"context"
	"errors"
	"net"
)

// secure is only implemented in the full program: the small one has no TLS.
func secure(context.Context, net.Conn, string) (net.Conn, error) {
	return nil, errors.New("the small host program has no TLS")
}
