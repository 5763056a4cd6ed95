package tight

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inflate reads a gzip file, and nothing but one.
func inflate(t testing.TB, packed []byte) []byte {
	t.Helper()
	in := bytes.NewReader(packed)
	z, err := gzip.NewReader(in)
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Zero(t, in.Len())
	return out
}

// size is that of the same file as compress/gzip makes it.
func size(t testing.TB, b []byte) int {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Len()
}

func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, b := range map[string][]byte{
		"nothing":       {},
		"a byte":        {7},
		"the same":      bytes.Repeat([]byte{0}, 200_000),
		"two":           bytes.Repeat([]byte("ab"), 200),
		"every length":  []byte(everyLength()),
		"far away":      append(append(bytes.Clone(noise[:maxDistance]), noise[:300]...), noise[1:300]...),
		"noise":         noise,
		"across chunks": bytes.Repeat([]byte("abc\x00"), 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, len(b), len(inflate(t, Gzip(b))))
			require.True(t, bytes.Equal(b, inflate(t, Gzip(b))))
		})
	}
}

func everyLength() string {
	var s strings.Builder
	for n := range 300 {
		s.WriteString(strings.Repeat("x", n) + string(rune('a'+n%26)))
	}
	return s.String()
}

func TestCodesOfSymbols(t *testing.T) {
	for length := minMatch; length <= maxMatch; length++ {
		symbol, extra := lengthCode(length)
		require.GreaterOrEqual(t, symbol, 257)
		require.Less(t, symbol, literals)
		require.LessOrEqual(t, extra, uint(5))
	}
	for distance := 1; distance <= maxDistance; distance++ {
		symbol, extra := distanceCode(distance)
		require.Less(t, symbol, distances)
		require.LessOrEqual(t, extra, uint(13))
	}
}

// TestSmaller compresses a program: this one.
func TestSmaller(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := os.ReadFile(self)
	require.NoError(t, err)
	b = b[:min(len(b), chunk/2)]
	packed := Gzip(b)
	require.True(t, bytes.Equal(b, inflate(t, packed)))
	require.Less(t, len(packed), size(t, b)*98/100)
	require.Equal(t, packed, Gzip(b), "one input has one output")
}

func FuzzGzip(f *testing.F) {
	f.Add([]byte(""), uint16(1))
	f.Add([]byte("abcabcabd"), uint16(500))
	f.Add([]byte{0, 255, 0, 255, 1}, uint16(3000))
	f.Fuzz(func(t *testing.T, b []byte, times uint16) {
		b = bytes.Repeat(b, min(int(times), 5_000/(len(b)+1)+1))
		require.True(t, bytes.Equal(b, inflate(t, Gzip(b))))
	})
}
