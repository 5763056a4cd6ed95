package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestNotesStayWithinWhatAControllerTakes: a longer report would fail the host because of one resource. The last
// message is kept, and the number of dropped ones.
func TestNotesStayWithinWhatAControllerTakes(t *testing.T) {
	for _, c := range []struct {
		name       string
		line       string
		said, left int
	}{
		{"few", "x", 3, 0},
		{"as many as there may be", "x", (maxNotes - 1) / 2 * 2, 0},
		{"one more", "x", (maxNotes-1)/2*2 + 1, 1},
		{"many", "x", 5000, 5000 - (maxNotes-1)/2*2},
		{"long", strings.Repeat("x", 10_000), 5000, 5000 - 2*5},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &said{}
			for i := range c.said {
				n.Message("info", fmt.Sprint(i, " ", c.line))
			}
			list := n.list()
			require.LessOrEqual(t, len(list), maxNotes)
			require.True(t, strings.HasPrefix(list[0].Text, "0 "))
			require.True(t, strings.HasPrefix(list[len(list)-1].Text, fmt.Sprint(c.said-1, " ")))
			size, left := 0, 0
			for _, note := range list {
				size += len(note.Text)
				if note.Level == "warning" {
					_, err := fmt.Sscanf(note.Text, "[… %d message", &left)
					require.NoError(t, err)
					require.Equal(t, modules.Note{Level: "warning", Text: note.Text}, note)
				}
			}
			require.LessOrEqual(t, size, maxAllNotes+64)
			require.Equal(t, c.left, left)
		})
	}
}
