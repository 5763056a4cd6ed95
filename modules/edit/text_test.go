package edit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestByteOrderMark edits files with a byte order mark: it stays at the beginning of the file, and is not part of a
// line.
func TestByteOrderMark(t *testing.T) {
	for _, c := range []struct{ have, first, with string }{
		{"\ufeffa\nb\n", "a", "\ufeffnew\na\nb\n"},
		{"\ufeffa\r\nb", "a", "\ufeffnew\r\na\r\nb"},
		{"\ufeff", "", "\ufeffnew\n"},
		{"a\n", "a", "new\na\n"},
	} {
		text := Parse(c.have)
		require.Equal(t, c.have, text.String())
		if c.first != "" {
			require.Equal(t, c.first, text.Lines[0].Text)
		}
		text.Insert(0, "new")
		require.Equal(t, c.with, text.String())
		require.Equal(t, c.with, Parse(c.with).String())
		text.SetBody("x\n")
		require.Equal(t, c.with[:len(c.with)-len(Parse(c.with).Body())]+"x\n", text.String())
	}
}
