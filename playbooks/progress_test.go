package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestWhatHasLeft is told of as what a host adds to its catalog.
func TestWhatHasLeft(t *testing.T) {
	c := &modules.Catalog{Entries: []modules.Entry{{Type: "file", Name: "/a"}}}
	progress := newCatalogProgress(c)
	for _, name := range []string{"/b", "/c"} {
		c.Entries = append(c.Entries, modules.Entry{Type: "file", Name: name, Left: true})
	}
	progress.Note(&modules.Result{Index: 0})
	require.Equal(t, events.Rest{NotReached: 2, Next: "file#/b"}, progress.Rest())
	progress.Note(&modules.Result{Index: 2, Status: modules.Changed})
	e := resultEvent("p", "h", c, &modules.Result{Index: 2, Status: modules.Changed, Message: "removed the file"})
	require.True(t, e.Left && e.Changed)
	require.Equal(t, "/c", e.Name)
}
