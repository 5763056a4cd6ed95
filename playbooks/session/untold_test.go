package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// TestUntoldBreaches has what a host could say of earlier runs.
func TestUntoldBreaches(t *testing.T) {
	u := &wire.Untold{Run: "r0", Results: []wire.UntoldResult{{Type: "file", Name: "/a", Status: wire.Changed}}}
	var told int
	run := func(count func(*wire.Untold) bool) *catalogRun {
		compiled := &catalog.Compiled{Catalog: wire.Catalog{Entries: []wire.Entry{{Type: "file", Name: "/a"}}}}
		return newCatalogRun(&Session{}, Task{Compiled: compiled, Untold: count, Emit: func(*wire.Result) {}})
	}
	c := run(func(*wire.Untold) bool { told++; return true })
	for range wire.MaxUntoldCatalogs {
		require.NoError(t, c.untold(u))
	}
	require.Equal(t, wire.MaxUntoldCatalogs, told)
	require.EqualError(t, c.untold(u), "the host reports more than 20 catalogs of earlier runs")
	require.EqualError(t, run(nil).untold(u), "the host reports an earlier run without a request")
	require.Len(t, c.acks, told)
	c = run(func(*wire.Untold) bool { return false })
	require.NoError(t, c.untold(u))
	require.Empty(t, c.acks, "the next run reports it")
	c = run(func(*wire.Untold) bool { return true })
	require.NoError(t, c.result(&wire.Result{Index: 0}))
	require.EqualError(t, c.untold(u), "the host reports an earlier run without a request")
}

// TestKnownResults checks that known results are not reported twice, although the host repeats them.
func TestKnownResults(t *testing.T) {
	var told []int
	compiled := &catalog.Compiled{Catalog: wire.Catalog{Entries: []wire.Entry{{Type: "file", Name: "/a"}, {Type: "file", Name: "/b"}, {Type: "file", Name: "/old", Reversal: true}}}}
	c := newCatalogRun(&Session{}, Task{Compiled: compiled, Known: []bool{true, false}, Emit: func(r *wire.Result) { told = append(told, r.Index) }})
	require.Len(t, compiled.Catalog.Entries, 2, "what was undone the host says again")
	require.NoError(t, c.result(&wire.Result{Index: 0}))
	require.NoError(t, c.result(&wire.Result{Index: 1}))
	require.Equal(t, []int{1}, told)
	require.Zero(t, c.missing())
}
