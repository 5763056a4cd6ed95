//go:build e2e

package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

// TestEveryTypeHasItsPlace holds the scenario that has every type against the
// registry; it is played with the others.
func TestEveryTypeHasItsPlace(t *testing.T) {
	text, err := os.ReadFile("testdata/scenarios/every-type.yaml")
	require.NoError(t, err)
	for _, name := range builtin.Types().Names() {
		require.Contains(t, string(text), "\n    - "+name+":", "add the type to the scenario")
	}
}
