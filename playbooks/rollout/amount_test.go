package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// FuzzParseAmount holds that an amount that is read can be written, is read as the same then, and is one host at least.
func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"1", "10%", "0", "-1", "0.5%", "100%", "101%", "NaN%", "Inf%", "1e-300%", "0x10%", "+5", "rest", "", "%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := rollout.ParseAmount(text)
		if err != nil {
			require.Zero(t, a)
			return
		}
		again, err := rollout.ParseAmount(a.String())
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}
