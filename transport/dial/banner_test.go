package dial

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
)

// A countedConn returns the host's output in the pieces in which it arrives.
type countedConn struct {
	net.Conn
	pieces [][]byte
	reads  int
}

func (c *countedConn) Read(b []byte) (int, error) {
	c.reads++
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

// TestBannerConnReadsAll checks that readers see all output, in whatever pieces it arrives.
func TestBannerConnReadsAll(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		said := make([]byte, random.IntN(5*readAhead))
		for i := range said {
			said[i] = byte(random.Uint32())
		}
		conn := &countedConn{}
		for rest := said; len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 2*readAhead))
			conn.pieces, rest = append(conn.pieces, rest[:n]), rest[n:]
		}
		c := &bannerConn{Conn: conn}
		var got []byte
		for {
			b := make([]byte, 1+random.IntN(3)*random.IntN(readAhead))
			n, err := c.Read(b)
			got = append(got, b[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.NotZero(t, n)
		}
		require.Equal(t, string(said), string(got), "seed %d", seed)
		require.Equal(t, string(said[:min(len(said), transport.MaxQuoted)]), string(c.said), "seed %d", seed)
	}
}

// TestBannerConnReadsVersionAtOnce counts the reads of the connection for a version that is read byte by byte.
func TestBannerConnReadsVersionAtOnce(t *testing.T) {
	conn := &countedConn{pieces: [][]byte{[]byte("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u7\r\n"), []byte("and more")}}
	c := &bannerConn{Conn: conn}
	for b := []byte{0}; b[0] != '\n'; {
		_, err := io.ReadFull(c, b)
		require.NoError(t, err)
	}
	require.Equal(t, 1, conn.reads)
	b := make([]byte, 100)
	n, err := c.Read(b)
	require.NoError(t, err)
	require.Equal(t, "and more", string(b[:n]))
}
