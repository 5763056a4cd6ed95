package excerpt_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		most int
		want string
	}{
		{"nothing", "", 0, ""},
		{"as long as may be", "abcde", 5, "abcde"},
		{"one byte more", "abcdef", 5, "ab[… 1 byte left out …]def"},
		{"nothing may be kept", "abc", 0, "[… 3 bytes left out …]"},
		{"less than nothing", "abc", -7, "[… 3 bytes left out …]"},
		{"lines end near", "first line\nsecond\nthird\nfourth\nlast line\n", 26, "first line\n[… 20 bytes left out …]\nlast line\n"},
		{"a line ends near on one side", "0123456789\nabcdefghijklmnopqrstuvwxyz", 24, "0123456789\n[… 14 bytes left out …]opqrstuvwxyz"},
		{"a line ends too far away", "a\n" + strings.Repeat("b", 40) + "\nc", 20, "a\nbbbbbbbb[… 24 bytes left out …]bbbbbbbb\nc"},
		{"not within a character", "aéééééa", 8, "aé[… 6 bytes left out …]éa"},
		{"no text at all", strings.Repeat("\x80", 30), 10, strings.Repeat("\x80", 5) + "[… 20 bytes left out …]" + strings.Repeat("\x80", 5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, excerpt.Of(c.text, c.most))
			w := excerpt.Writer{Most: max(0, c.most)}
			_, err := io.Copy(&w, iotest.OneByteReader(strings.NewReader(c.text)))
			require.NoError(t, err)
			require.Equal(t, c.want, w.String())
			require.EqualValues(t, len(c.text), w.Len())
		})
	}
}

func TestLines(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f"}
	for most, want := range []string{
		"[… 6 lines left out …]", "[… 6 lines left out …]", "[… 5 lines left out …] f", "a [… 4 lines left out …] f",
		"a [… 3 lines left out …] e f", "a b [… 2 lines left out …] e f", "a b c d e f", "a b c d e f",
	} {
		require.Equal(t, want, strings.Join(excerpt.Lines(all, most), " "), "most %d", most)
	}
	require.Empty(t, excerpt.Lines(nil, 0))
}

// TestWriterForgets checks that Reset forgets the text written before.
func TestWriterForgets(t *testing.T) {
	w := excerpt.Writer{Most: 4}
	fmt.Fprint(&w, "abcdefgh")
	w.Reset()
	fmt.Fprint(&w, "xyz")
	text, missing := w.Text()
	require.Equal(t, "xyz", text)
	require.Zero(t, missing)
}

// FuzzWriter writes a text in pieces: the writer keeps its two ends, and the mark is correct about the rest.
func FuzzWriter(f *testing.F) {
	f.Add("", 0, 1)
	f.Add("a\nb\nc\nd\ne\nf\n", 9, 3)
	f.Add("ééééééé", 5, 2)
	f.Add(strings.Repeat("0123456\n", 100), 64, 37)
	f.Fuzz(func(t *testing.T, text string, most, piece int) {
		if most < 0 || most > 1<<12 || piece < 1 {
			return
		}
		w := excerpt.Writer{Most: most}
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			fmt.Fprint(&w, rest[:n])
			rest = rest[n:]
		}
		got, missing := w.Text()
		require.Equal(t, got, excerpt.Of(text, most), "all at once")
		if len(text) <= most {
			require.Equal(t, text, got)
			require.Zero(t, missing)
			return
		}
		mark := excerpt.Mark(missing, "byte")
		head, tail, found := strings.Cut(got, mark)
		require.True(t, found)
		cut, isCut := strings.CutPrefix(tail, "\n")
		require.True(t, strings.HasPrefix(text, head))
		require.True(t, strings.HasSuffix(text, tail) || isCut && strings.HasSuffix(text, cut))
		if kept := int64(len(head) + len(tail)); kept != int64(len(text))-missing {
			require.True(t, isCut)
			require.Equal(t, int64(len(text))-missing, kept-1)
		}
		require.LessOrEqual(t, len(got), most+len(mark)+len("\n"))
		if utf8.ValidString(text) {
			require.True(t, utf8.ValidString(got))
		}
	})
}
