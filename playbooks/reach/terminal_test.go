package reach

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadHidden(t *testing.T) {
	for _, test := range []struct{ name, keys, line, rest, err string }{
		{"a line", "abc\nd", "abc", "d", ""},
		{"carriage return", "abc\rd", "abc", "d", ""},
		{"nothing", "\n", "", "", ""},
		{"bytes", "\xff{{ }}\t\x00 \n", "\xff{{ }}\t\x00 ", "", ""},
		{"backspace", "ab\x7f\x08\x08c\n", "c", "", ""},
		{"backspace takes a character", "a\u00e9\x7f\n", "a", "", ""},
		{"kill", "ab\x15c\n", "c", "", ""},
		{"end of file after something", "ab\x04", "ab", "", ""},
		{"end of file", "\x04\n", "", "\n", "there was no answer"},
		{"interrupt", "ab\x03\n", "", "\n", "interrupted"},
		{"hang up", "ab", "", "", "there was no answer\nEOF"},
		{"too long", strings.Repeat("a", maxPassword) + "b\n", "", "b\n", "more than 64 KiB are no answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := strings.NewReader(test.keys)
			line, err := readHidden(r)
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.err)
			}
			require.Equal(t, test.line, string(line))
			rest, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, test.rest, string(rest))
		})
	}
}

func FuzzReadHidden(f *testing.F) {
	f.Add("abc\n")
	f.Add("ab\x7f\x15\u00e9\x7f\x04")
	f.Fuzz(func(t *testing.T, keys string) {
		r := strings.NewReader(keys)
		line, err := readHidden(r)
		if err != nil {
			return
		}
		require.NotContains(t, string(line), "\n")
		require.LessOrEqual(t, len(line), len(keys)-r.Len())
	})
}
