package runs

import (
	"bytes"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestFromNow checks that earlier events of a run reach all reporters, which print only the later ones.
func TestFromNow(t *testing.T) {
	all := []events.Event{
		events.RunStart{Hosts: 1}, events.PlayStart{Play: "one", Hosts: []string{"web1"}},
		events.Result{Play: "one", Host: "web1", Type: "exec", Name: "before", Status: events.Changed},
		events.Result{Play: "one", Host: "web1", Type: "exec", Name: "after", Status: events.Changed},
		events.Summary{},
	}
	told := iter.Seq2[events.Event, error](func(yield func(events.Event, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
	for first, want := range []string{"one.*before.*after", "one.*before.*after", "before.*after", "after", "", ""} {
		var out bytes.Buffer
		g := &gate{out: &out, first: first}
		end, err := g.follow(told, events.NewText(g, events.TextOptions{}))
		require.NoError(t, err)
		require.NotNil(t, end)
		require.Regexp(t, "(?s)"+want, out.String())
		if first > 2 {
			require.NotContains(t, out.String(), "before")
		}
		require.Equal(t, first > 4, out.Len() == 0)
	}
}
