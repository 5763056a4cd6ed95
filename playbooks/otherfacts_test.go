package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
)

// TestOtherFactsForAWorker requests the facts that plays read, as a worker with a host in a turn of the first play. It
// gets the facts of the turn, since a gate on a host outside of the play needs them, and the facts of plays of the
// host.
func TestOtherFactsForAWorker(t *testing.T) {
	f := &fleet{}
	for number, host := range []string{"web1", "web2", "web1"} {
		values := &inventoryValues{facts: map[string]any{"db1": map[string]any{"play": int64(number)}}}
		f.plays = append(f.plays, &selection{number: number, values: values, hosts: []*inventory.Host{{Name: host}}})
	}
	told := func(host string, play int) any {
		a := &answerer{fleet: f, of: f.plays[0], host: host}
		if a.checkPlay(play) != nil {
			return nil
		}
		found, err := FactsOfOthers{play}.answer(a)
		require.NoError(t, err)
		return found.Facts["db1"].Any()
	}
	for play, want := range map[int]any{0: map[string]any{"play": int64(0)}, 1: nil, 2: map[string]any{"play": int64(2)}, 3: nil, -1: nil} {
		require.Equal(t, want, told("web1", play), "play %d", play)
	}
	require.Equal(t, map[string]any{"play": int64(0)}, told("gateway", 0))
	require.Nil(t, told("gateway", 2))
}
