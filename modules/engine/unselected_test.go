package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestUnselected: an entry that the run does not select is refreshed in the run, or its refresh stays due.
func TestUnselected(t *testing.T) {
	refreshed := func(how wire.Unselected, by ...int) wire.Entry {
		return with(command("echo", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe, e.Unselected = by, how })
	}
	unselected := func(how wire.Unselected) func(*wire.Entry) { return func(e *wire.Entry) { e.Unselected = how } }
	content := func(text string) wire.Entry { return file("$/a", `"mode":"0644","content":"`+text+`"`) }
	for _, parallel := range []int{0, 1} {
		dir := t.TempDir()
		j := &mortalJournal{}
		run := func(want string, check bool, entries ...wire.Entry) []wire.Result {
			t.Helper()
			results, _ := runMortal(t, &mortal{}, j, enginetest.In(dir, wire.Catalog{Check: check, Parallel: parallel, Entries: entries}))
			require.Equal(t, want, brief(results))
			return results
		}
		now, later := refreshed(wire.RefreshNow, 0), refreshed(wire.RefreshLater, 0)
		later.Properties = nil
		run("changed changed*", false, content("0"), now)
		require.Empty(t, j.text)
		require.Empty(t, run("stable skipped", false, content("0"), now)[1].Message)
		require.Empty(t, run("stable skipped", true, content("0"), later)[1].Message)
		run("changed changed*?", true, content("1"), now)

		results := run("changed skipped", true, content("1"), later)
		require.Equal(t, "not selected: exec#echo would be due", results[1].Message)
		require.Equal(t, "file#$/a", strings.ReplaceAll(results[1].Because, dir, "$"))
		require.Empty(t, j.text)
		results = run("changed skipped", false, content("1"), later)
		require.Equal(t, "not selected: exec#echo is due", results[1].Message)
		for _, how := range []wire.Unselected{wire.RefreshNow, wire.RefreshLater} {
			results = run("stable skipped", false, content("1"), refreshed(how, 0))
			require.Equal(t, "not selected: exec#echo is due", results[1].Message)
		}
		run("stable changed*?", true, content("1"), refreshed("", 0))
		run("stable changed*", false, content("1"), refreshed("", 0))
		require.Empty(t, j.text)
		run("stable stable", false, content("1"), refreshed("", 0))

		// A refresh that is due and one of this run are one.
		run("changed skipped", false, content("2"), later)
		run("changed changed*", false, content("3"), now)
		require.Empty(t, j.text)

		// Manifests and blocks have a result if something happened in them.
		within := with(nested(1), unselected(wire.RefreshNow))
		require.Empty(t, run("stable skipped skipped", false, content("3"), now, within)[2].Message)
		results = run("changed changed* changed", false, content("4"), now, within)
		require.Equal(t, "changed 1 of 1 resources", results[2].Message)
		results = run("stable skipped skipped", false, content("4"), now, block(1, 0, 0, unselected(wire.RefreshNow)))
		require.Empty(t, results[2].Message)
		results = run("changed changed* changed", false, content("5"), now, nested(2))
		require.Equal(t, "changed 2 of 2 resources", results[2].Message)
		results = run("changed skipped changed", false, content("6"), later, nested(2))
		require.Equal(t, "changed 1 of 2 resources", results[2].Message, "which of them is due is one of them")
		run("stable changed* changed", false, content("6"), refreshed("", 0), nested(2))

		// A refresh that fails, or whose requirement is not met, stays due.
		broken := with(refreshed(wire.RefreshNow, 0), func(e *wire.Entry) {
			*e = with(command("false", `"refreshonly":true`), func(n *wire.Entry) { n.Subscribe, n.Unselected = e.Subscribe, e.Unselected })
		})
		run("changed failed*", false, content("7"), broken)
		require.Contains(t, string(j.text), "exec#false")
		j.text = nil
		run("changed failed skipped", false, content("8"), command("false", ""), with(now, func(e *wire.Entry) { e.Require = []int{1} }))
		require.Contains(t, string(j.text), "exec#echo")
		run("stable failed changed*", false, content("8"), command("false", ""), refreshed("", 0))

		// A resource without a refresh has no effect on others.
		run("failed skipped changed", false, command("false", ""), with(refreshed(wire.RefreshNow, 0), func(e *wire.Entry) { e.Require = []int{0} }),
			with(command("true", ""), func(e *wire.Entry) { e.Require = []int{1} }))
	}
}
