package semanage_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/semanage"
)

// FuzzParseContext holds that a context has the fields of its text in their order.
func FuzzParseContext(f *testing.F) {
	for _, text := range []string{"system_u:object_r:etc_t:s0", "system_u:object_r:etc_t", "a:b:c:s0-s0:c0.c1023", semanage.None, "", ":", "etc_t"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := semanage.ParseContext(text)
		if text == semanage.None {
			require.Equal(t, semanage.Context{Type: text}, c)
			return
		}
		rest, isFirst := strings.CutPrefix(text, c.User)
		require.True(t, isFirst)
		if c.Range != "" || c.Type != "" {
			_, after, _ := strings.Cut(strings.TrimPrefix(rest, ":"), ":")
			require.Equal(t, c.Type, strings.TrimSuffix(strings.TrimSuffix(after, c.Range), ":"))
		}
	})
}
