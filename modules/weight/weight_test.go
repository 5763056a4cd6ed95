package weight_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/weight"
)

func repeated(open, one, end string, n int) string {
	return open + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + end
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"key%06d":%d,`, i, i)
	}
	return "{" + strings.TrimSuffix(b.String(), ",") + "}"
}

// TestOf compares the estimate with the memory of decoded JSON: it must not be less, and only a few times as much.
func TestOf(t *testing.T) {
	for name, text := range map[string]string{
		"a map of many keys": keys(100_000),
		"small maps":         repeated("[", `{"a":1}`, "]", 100_000),
		"empty maps":         repeated("[", `{}`, "]", 100_000),
		"lists":              repeated("[", `[1]`, "]", 100_000),
		"numbers":            repeated("[", `123456`, "]", 200_000),
		"booleans":           repeated("[", `true`, "]", 200_000),
		"texts":              repeated("[", `"avx512"`, "]", 200_000),
		"a long text":        `"` + strings.Repeat("x", 4<<20) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var v any
			require.NoError(t, json.Unmarshal([]byte(text), &v))
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(v)
			taken := int(after.HeapAlloc) - int(before.HeapAlloc)
			estimate, _ := weight.Of([]byte(text))
			require.Greater(t, estimate, taken*9/10)
			require.Less(t, estimate, taken*9)
		})
	}
}

func TestOfText(t *testing.T) {
	for _, c := range []struct {
		text          string
		weight, depth int
	}{
		{``, 48, 0},
		{`1`, 48, 0},
		{`"[{,:"`, 48 + 5, 0},
		{`"\"[{"`, 48 + 5, 0},
		{`"\\"[`, 48 + 3 + 64, 1},
		{`"[`, 48 + 2, 0},
		{`"\`, 48 + 2, 0},
		{`[[],[[]]]`, 48 + 4*64 + 48, 3},
		{`{"a":{"b":1}}`, 48 + 2*(340+64+2), 2},
		{`]]]`, 48, 0},
	} {
		bytes, depth := weight.Of([]byte(c.text))
		require.Equal(t, []int{c.weight, c.depth}, []int{bytes, depth}, c.text)
	}
}
