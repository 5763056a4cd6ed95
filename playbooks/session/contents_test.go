package session

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// contentsByHash are contents of which each has one character for a name.
type contentsByHash map[string][]byte

func (c contentsByHash) Open(digest string) (io.ReadCloser, int64, error) {
	content, ok := c[digest]
	switch {
	case !ok:
		return nil, 0, errors.New("it is not there")
	case bytes.Equal(content, []byte("shrunk")):
		return io.NopCloser(strings.NewReader("shr")), int64(len(content)), nil
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}

// pieces is a stream that knows how it was written.
type pieces struct {
	bytes.Buffer
	n int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.n++
	return p.Buffer.Write(b)
}

// TestStreamSendsTogether checks that many small contents need one write, and a large one needs as many as it has
// chunks. With any sizes, the host restores the contents.
func TestStreamSendsTogether(t *testing.T) {
	sizes := func(n, size int) (all []int) {
		for range n {
			all = append(all, size)
		}
		return all
	}
	for _, test := range []struct {
		name   string
		sizes  []int
		writes int
	}{
		{"an empty one", []int{0}, 1},
		{"small ones", sizes(25, 2000), 1},
		{"more than a chunk of small ones", sizes(70, 2000), 3},
		{"a chunk", []int{wire.MaxChunk}, 1},
		{"a large one among small ones", []int{10, 3*wire.MaxChunk + 1, 10, 0}, 4},
		{"nearly a chunk each", sizes(4, wire.MaxChunk-1), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			contents, digests := contentsByHash{}, []string{}
			for i, size := range test.sizes {
				digest := strings.Repeat(string("0123456789abcdef"[i%16])+string("0123456789abcdef"[i/16]), 32)
				content := make([]byte, size)
				for j := range content {
					content[j] = byte(rand.IntN(256))
				}
				contents[digest], digests = content, append(digests, digest)
			}
			var out pieces
			s := &Session{conn: wire.NewConn(nil, &out, wire.MaxFromHost), interval: time.Hour}
			require.NoError(t, s.stream(contents, nil, digests...))
			require.Equal(t, test.writes, out.n)
			require.Equal(t, contents, received(t, &out, len(digests)))
		})
	}
}

// A content that cannot be read, or that has become shorter, takes no other with it.
func TestStreamOfWhatIsGone(t *testing.T) {
	name := func(c string) string { return strings.Repeat(c, 64) }
	contents := contentsByHash{name("a"): []byte("first"), name("c"): []byte("shrunk"), name("d"): []byte("last")}
	var out pieces
	s := &Session{conn: wire.NewConn(nil, &out, wire.MaxFromHost), interval: time.Hour}
	require.NoError(t, s.stream(contents, nil, name("a"), name("b"), name("c"), name("d")))
	require.Equal(t, 1, out.n)
	require.Equal(t, contentsByHash{
		name("a"): []byte("first"),
		name("b"): []byte("it is not there"),
		name("c"): []byte("the file changed during the run: unexpected EOF"),
		name("d"): []byte("last"),
	}, received(t, &out, 4))
}

// received restores contents as a host does; for missing ones it has the reason.
func received(t *testing.T, in io.Reader, n int) contentsByHash {
	conn, all := wire.NewConn(bufio.NewReader(in), nil, wire.MaxFromController), contentsByHash{}
	for done := 0; done < n; {
		m, err := conn.Receive()
		require.NoError(t, err)
		b := m.Blob
		if b.Gone != "" {
			all[b.SHA256] = []byte(b.Gone)
			done++
			continue
		}
		require.Len(t, all[b.SHA256], int(b.Offset))
		all[b.SHA256] = append(append([]byte{}, all[b.SHA256]...), b.Data...)
		if b.Offset+int64(len(b.Data)) == b.Size {
			done++
		}
	}
	return all
}
