package printable_test

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

func TestEscape(t *testing.T) {
	tests := []struct{ in, line, block string }{
		{"", "", ""},
		{"naïve ☃ 𝄞", "naïve ☃ 𝄞", "naïve ☃ 𝄞"},
		{"a\tb\nc", `a\tb\nc`, "a\tb\nc"},
		{"a\r\nb", `a\r\nb`, "a\\r\nb"},
		{"\x1b[2J", `\x1b[2J`, `\x1b[2J`},
		{"\a\b\x00\x7f", `\x07\x08\x00\x7f`, `\x07\x08\x00\x7f`},
		{"\u009b2K", `\u009b2K`, `\u009b2K`},
		{"\x9b2K\xff", `\x9b2K\xff`, `\x9b2K\xff`},
		{"\ufffd", "\ufffd", "\ufffd"},
		{"exe\u202egpj", `exe\u202egpj`, `exe\u202egpj`},
		{"\u2066\u2069\u200e\u200f\u061c", `\u2066\u2069\u200e\u200f\u061c`, `\u2066\u2069\u200e\u200f\u061c`},
		{"\u2028\u2029", `\u2028\u2029`, `\u2028\u2029`},
	}
	for _, tt := range tests {
		require.Equal(t, tt.line, printable.Line(tt.in), "%q", tt.in)
		require.Equal(t, tt.block, printable.Block(tt.in), "%q", tt.in)
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a\tb\r\nc", "\x1b]0;owned\a\x1b[2J\x9b2K\u009b2K\r\b\x7f\u202egnp.exe\u2066\u200e\u2028\xff\x00", "\ufffd", "naïve ☃"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range printable.Line(s) {
			require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%q", r)
		}
		require.Equal(t, printable.Line(s), printable.Line(printable.Line(s)))
		require.Equal(t, printable.Line(s), printable.Line(printable.Block(s)))
	})
}
