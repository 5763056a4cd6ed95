package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestStaying resumes a catalog of another run: failed entries have their turn again, with all that depend on them, and
// no others.
func TestStaying(t *testing.T) {
	entry := func(name string) wire.Entry { return wire.Entry{Type: "exec", Name: name} }
	with := func(e wire.Entry, set func(*wire.Entry)) wire.Entry { set(&e); return e }
	scope := func(s wire.Scope) wire.Entry {
		return with(entry("scope"), func(e *wire.Entry) { e.Scope = &s })
	}
	const ok, changed, failed, rescued, skipped, unmet = wire.Stable, wire.Changed, wire.Failed, wire.Rescued, wire.Skipped, wire.Status("unmet")
	const ran, unknown = wire.Status("ran"), wire.Status("unknown") // a command without a guard succeeded, or was cut
	after := func(name string, on ...int) wire.Entry {
		return with(entry(name), func(e *wire.Entry) { e.Require = on })
	}
	for _, tt := range []struct {
		name    string
		cat     wire.Catalog
		came    []wire.Status
		dropped []int // dropped if another run resumes it
	}{
		{name: "all is well", cat: wire.Catalog{Entries: []wire.Entry{entry("a"), entry("b")}}, came: []wire.Status{ok, changed}},
		{name: "a failure", cat: wire.Catalog{Entries: []wire.Entry{entry("a"), entry("b"), entry("c")}}, came: []wire.Status{changed, failed, changed}, dropped: []int{1}},
		{
			name: "who requires it, subscribes to it or receives from it", dropped: []int{0, 1, 2, 3},
			cat: wire.Catalog{Entries: []wire.Entry{
				entry("a"), with(entry("b"), func(e *wire.Entry) { e.Require = []int{0} }), with(entry("c"), func(e *wire.Entry) { e.Subscribe = []int{0} }),
				with(entry("d"), func(e *wire.Entry) { e.Receive = []wire.Receive{{From: 2}} }), with(entry("e"), func(e *wire.Entry) { e.Receive = []wire.Receive{{From: -1}} }),
			}},
			came: []wire.Status{failed, unmet, ok, changed, changed},
		},
		{
			name: "what control excludes stays so", dropped: []int{0},
			cat: wire.Catalog{Entries: []wire.Entry{entry("a"), with(entry("b"), func(e *wire.Entry) { e.Excluded = true })}}, came: []wire.Status{failed, skipped},
		},
		{name: "the play has ended", cat: wire.Catalog{FailOnError: true, Entries: []wire.Entry{entry("a"), entry("b"), entry("c")}}, came: []wire.Status{changed, failed, unmet}, dropped: []int{1, 2}},
		{
			name: "a manifest has ended, and another one not", dropped: []int{0, 1, 2},
			cat:  wire.Catalog{Entries: []wire.Entry{entry("a"), entry("b"), scope(wire.Scope{Entries: 2, FailOnError: true}), entry("c"), scope(wire.Scope{Entries: 1})}},
			came: []wire.Status{failed, unmet, failed, changed, changed},
		},
		{
			name: "commands run once, whatever they depend on", dropped: []int{0, 1, 4},
			cat: wire.Catalog{Entries: []wire.Entry{
				entry("a"), with(entry("b"), func(e *wire.Entry) { e.Subscribe = []int{0} }), after("c", 1), after("d", 1), with(after("e", 1), func(e *wire.Entry) { e.Rerun = true }),
			}},
			came: []wire.Status{failed, ok, ran, unknown, unknown},
		},
		{
			name: "what was rescued is not tried again",
			cat:  wire.Catalog{Entries: []wire.Entry{entry("a"), entry("b"), entry("c"), scope(wire.Scope{Entries: 3, Block: &wire.Block{Rescue: 1}})}},
			came: []wire.Status{rescued, unmet, changed, changed},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := notes.Begun{}
			for i, status := range tt.came {
				f := &notes.Finished{Type: "exec", Name: tt.cat.Entries[i].Name, Result: &wire.Result{Index: i, Status: status}}
				if status == unmet {
					f.Unmet, f.Result.Status = true, wire.Skipped
				}
				if status == ran {
					f.RunsOnce, f.Result.Status = true, wire.Changed
				}
				if status == unknown {
					f.RunsOnce, f.Result.Unknown, f.Result.Status = true, true, wire.Failed
				}
				begun.Finished = append(begun.Finished, f)
			}
			kept, dropped := staying(begun, nil, &tt.cat)
			require.Len(t, kept, len(tt.came), "the run that had begun it goes on")
			require.Empty(t, dropped)
			begun.By = "r1"
			kept, dropped = staying(begun, nil, &tt.cat)
			require.Equal(t, tt.dropped, dropped)
			require.Len(t, kept, len(tt.came)-len(dropped))
		})
	}
}
