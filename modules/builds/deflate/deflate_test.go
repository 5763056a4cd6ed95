package deflate

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

func unpack(t testing.TB, packed []byte) []byte {
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	b, err := io.ReadAll(zr)
	require.NoError(t, err)
	return b
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

func text(lines int) []byte {
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "%d bottles of beer on the wall, take %d down\n", lines-i, i*i%97)
	}
	return b.Bytes()
}

// program is a part of the running test: machine code, tables and text.
func program(t testing.TB, size int) []byte {
	path, err := os.Executable()
	require.NoError(t, err)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Greater(t, len(b), 2*size)
	return b[len(b)/2-size/2:][:size]
}

var inputs = map[string][]byte{
	"nothing":               {},
	"a byte":                []byte("a"),
	"two bytes":             []byte("ab"),
	"a match":               []byte("abcabc"),
	"one byte after all":    []byte("aaa"),
	"the longest match":     bytes.Repeat([]byte("a"), 1+maxLength),
	"longer":                bytes.Repeat([]byte("a"), 2+maxLength),
	"every byte":            slices.Repeat(noise(256), 2),
	"zeros over a region":   make([]byte, regionSize+5),
	"noise":                 noise(100_000),
	"noise far back":        slices.Concat(noise(window-1), noise(300)),
	"noise too far back":    slices.Concat(noise(window), noise(300)),
	"a region and a byte":   append(text(3 * regionSize / 40)[:regionSize], 'x'),
	"different parts":       slices.Concat(text(2000), noise(20_000), make([]byte, 9000), text(500)),
	"few symbols, unevenly": bytes.ReplaceAll(noise(20_000), []byte{0}, []byte(strings.Repeat("ab", 700))),
}

func TestGzipUnpacks(t *testing.T) {
	for name, b := range inputs {
		t.Run(name, func(t *testing.T) {
			require.True(t, bytes.Equal(b, unpack(t, Gzip(b))))
		})
	}
}

func TestGzipOfTheSystemUnpacks(t *testing.T) {
	path := needs.Program(t, "gzip")
	for name, b := range inputs {
		if len(b) >= regionSize {
			continue
		}
		cmd := exec.Command(path, "-dc")
		cmd.Stdin = bytes.NewReader(Gzip(b))
		out, err := cmd.Output()
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(b, out), name)
	}
}

func TestSmallerThanBestCompression(t *testing.T) {
	for name, b := range map[string][]byte{"program": program(t, 512<<10), "text": text(5000)} {
		var best bytes.Buffer
		zw, err := gzip.NewWriterLevel(&best, gzip.BestCompression)
		require.NoError(t, err)
		_, err = zw.Write(b)
		require.NoError(t, err)
		require.NoError(t, zw.Close())
		require.Less(t, len(Gzip(b)), best.Len()*97/100, name)
	}
}

// TestWindow checks that a far match is used up to the maximal distance, and not after it.
func TestWindow(t *testing.T) {
	for distance, saves := range map[int]bool{window - 1: true, window: false} {
		n := noise(distance)
		packed := Gzip(slices.Concat(n, n[:maxLength]))
		require.Equal(t, saves, len(packed) < len(Gzip(n))+maxLength/2, distance)
	}
}

func TestLog2(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 255, 256, 1000, regionSize, regionSize + 1} {
		require.InDelta(t, math.Log2(float64(n)), float64(log2(n))/costUnit, 1.0/costUnit, n)
	}
}

func TestCodeLengths(t *testing.T) {
	fibonacci := []int{1, 1}
	for len(fibonacci) < 24 {
		fibonacci = append(fibonacci, fibonacci[len(fibonacci)-1]+fibonacci[len(fibonacci)-2])
	}
	for name, c := range map[string]struct {
		counts []int
		limit  int
		want   []uint8
	}{
		"one":      {[]int{0, 5}, 15, []uint8{0, 1}},
		"two":      {[]int{3, 0, 1}, 15, []uint8{1, 0, 1}},
		"unlike":   {[]int{1, 1, 2, 4}, 15, []uint8{3, 3, 2, 1}},
		"alike":    {[]int{7, 7, 7, 7}, 15, []uint8{2, 2, 2, 2}},
		"no limit": {fibonacci[:8], 7, []uint8{7, 7, 6, 5, 4, 3, 2, 1}},
		"limited":  {[]int{1, 1, 2, 10, 100}, 3, []uint8{3, 3, 3, 3, 1}},
	} {
		require.Equal(t, c.want, codeLengths(c.counts, c.limit), name)
	}
	full := 0
	for _, n := range codeLengths(fibonacci, maxTreeCodeLength) {
		require.LessOrEqual(t, n, uint8(maxTreeCodeLength))
		full += 1 << (maxTreeCodeLength - n)
	}
	require.Equal(t, 1<<maxTreeCodeLength, full, "no code is left over")
}

func FuzzGzip(f *testing.F) {
	for _, b := range inputs {
		if len(b) < 1000 {
			f.Add(b, uint16(1))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, times uint16) {
		b = bytes.Repeat(b, min(int(times), 1<<17/max(len(b), 1)))
		require.True(t, bytes.Equal(b, unpack(t, Gzip(b))))
	})
}

func BenchmarkGzip(b *testing.B) {
	part := program(b, regionSize)
	b.SetBytes(int64(len(part)))
	for b.Loop() {
		b.ReportMetric(float64(len(Gzip(part))), "packed-bytes")
	}
}

func ExampleGzip() {
	packed := Gzip(bytes.Repeat([]byte("steady as she goes\n"), 1000))
	fmt.Println(len(packed) < 200)
	// Output: true
}
