package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestNotesStayWithinWhatAControllerTakes: more would fail the host for a
// resource that talks much.
func TestNotesStayWithinWhatAControllerTakes(t *testing.T) {
	for name, line := range map[string]string{"many": "x", "long": strings.Repeat("x", 10_000)} {
		n := &notes{}
		for range 5000 {
			n.Message("info", line)
		}
		require.LessOrEqual(t, len(n.list), modules.MaxParts, name)
		require.Equal(t, modules.Note{Level: "warning", Text: "further messages are left out"}, n.list[len(n.list)-1], name)
	}
}
