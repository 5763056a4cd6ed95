package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestWhatHasLeft checks that entries which a host adds to its catalog are reported as such.
func TestWhatHasLeft(t *testing.T) {
	c := &wire.Catalog{Entries: []wire.Entry{{Type: "file", Name: "/a"}}}
	progress := newCatalogProgress(c)
	for _, name := range []string{"/b", "/c"} {
		c.Entries = append(c.Entries, wire.Entry{Type: "file", Name: name, Reversal: true})
	}
	progress.Note(&wire.Result{Index: 0})
	require.Equal(t, events.Rest{NotReached: 2, Next: "file#/b"}, progress.Rest())
	progress.Note(&wire.Result{Index: 2, Status: wire.Changed})
	e := resultEvent("p", "h", c, nil, &wire.Result{Index: 2, Status: wire.Changed, Message: "removed the file"})
	require.True(t, e.Left && e.Changed)
	require.Equal(t, "/c", e.Name)
}
