package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

// FuzzParseTarget checks that a target is equal to its text: a system and an architecture.
func FuzzParseTarget(f *testing.F) {
	for _, text := range []string{"linux/amd64", "linux", "/amd64", "linux/", "linux/amd64/v2", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := compile.ParseTarget(text)
		if err != nil {
			require.Zero(t, target)
			return
		}
		require.Equal(t, text, target.OS+"/"+target.Arch)
		require.NotEmpty(t, target.OS)
		require.NotEmpty(t, target.Arch)
	})
}
