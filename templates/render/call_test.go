package render

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIsFileName compares the answer with a regular expression.
func TestIsFileName(t *testing.T) {
	pattern := regexp.MustCompile(`^[\w./-]+\.\w{1,8}$`)
	named := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := make([]rune, r.IntN(12))
		for i := range s {
			s[i] = []rune("aZ09_./-. {\né")[r.IntN(13)]
		}
		require.Equal(t, pattern.MatchString(string(s)), isFileName(string(s)), "%q", string(s))
		if isFileName(string(s)) {
			named++
		}
	}
	require.Greater(t, named, 300)
	require.True(t, isFileName("a.12345678"))
	require.False(t, isFileName("a.123456789"))
}
