package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestSessionTakesWhatWasPromised has contents be asked for of which neither size
// nor hash are known.
func TestSessionTakesWhatWasPromised(t *testing.T) {
	c := serve(t)
	var entries []wire.Entry
	var tokens []string
	for i, name := range []string{"empty", "large", "gone", "never"} {
		token := strings.Repeat(fmt.Sprintf("%02x", i), 32)
		tokens = append(tokens, token)
		entries = append(entries, wire.Entry{Type: "archive", Name: name, Properties: fmt.Appendf(nil,
			`{"name":%q,"url":"https://example.com/a.tar","owner":"%d","group":"%d","fetch":"controller","content":{"promised":%q}}`,
			filepath.Join(c.dir, name+".tar"), os.Geteuid(), os.Getegid(), token)})
	}
	c.catalog(entries...)
	require.Equal(t, tokens, c.next().Want.SHA256)
	all := []byte(strings.Repeat("x", 100_000))
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[1], Size: 100_000, Data: all[:60_000]}})
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[0]}})
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[2], Gone: "the server is down"}})
	c.send(&wire.Message{Blob: &wire.Blob{SHA256: tokens[1], Size: 100_000, Offset: 60_000, Data: all[60_000:]}})
	for i, want := range []string{"", "", "download failed: the server is down"} {
		r := c.said().Result
		require.Equal(t, i, r.Index)
		require.Equal(t, want, r.Error)
	}
	for name, size := range map[string]int{"empty.tar": 0, "large.tar": 100_000} {
		b, err := os.ReadFile(filepath.Join(c.dir, name))
		require.NoError(t, err)
		require.Len(t, b, size)
	}
	require.NoError(t, c.input.Close()) // the last one will not come
	require.Equal(t, "download failed: unexpected EOF", c.said().Result.Error)
}
