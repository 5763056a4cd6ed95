package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// FuzzScopes takes catalogs of scopes alone through an engine: each byte is how
// many entries one stands for. Every entry has a result, or the catalog is refused.
func FuzzScopes(f *testing.F) {
	for _, seed := range []string{"", "\x00", "\x01", "\x00\x01\x02", "\x00\x00\x02\x01", "\x00\x01\x01", "\x00\xff", "\x00\x00\x00\x02\x04"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, scopes []byte) {
		if len(scopes) > 200 {
			return
		}
		var entries []wire.Entry
		open := []int{} // entries of scopes that nothing stands for yet
		valid := true
		for i, b := range scopes {
			n := int(int8(b))
			entries = append(entries, nested(n))
			left := n
			for left > 0 && len(open) > 0 {
				last := len(open) - 1
				left -= 1 + entries[open[last]].Scope.Entries
				open = open[:last]
			}
			valid = valid && n >= 0 && left == 0
			open = append(open, i)
		}
		e := &engine.Engine{Host: system.New(), Now: time.Now}
		results := 0
		_, err := e.Run(t.Context(), &wire.Catalog{Entries: entries}, func(*wire.Result) error { results++; return nil })
		if !valid {
			require.Error(t, err)
			require.Zero(t, results)
			return
		}
		require.NoError(t, err)
		require.Equal(t, len(entries), results)
	})
}
