package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// TestKeptOnce has a host tell what it has kept of what runs once, which it was asked to run by a worker that is lost, or by
// the run that this one goes on with: it holds for the others.
func TestKeptOnce(t *testing.T) {
	f := &fleet{once: share.NewOnce(&share.Waits{})}
	f.once.Begin([]string{"web1", "web2"}, false, func(string) {})
	d := &delegated{fleet: f, host: "web1", once: map[int]string{0: "migrate"}}
	require.Equal(t, wire.Changed, d.told(&wire.Result{Status: wire.Changed, Kept: true}).Status)
	on, result, err := f.once.Await(t.Context(), "web2", "migrate")
	require.NoError(t, err)
	require.Equal(t, "web1", on)
	require.Equal(t, wire.Changed, result.Status)
}
