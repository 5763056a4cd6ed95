package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestAffectsThatAreIncomplete has a command change the file of another resource that it does not list: the run warns,
// and later check runs take all effects of the command for unknown, until the manifest changes it.
func TestAffectsThatAreIncomplete(t *testing.T) {
	store := &mortalJournal{m: &mortal{}}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644))
	run := func(check bool, affects string) []wire.Result {
		t.Helper()
		e := enginetest.New()
		e.Applied, e.Reversals = store, &mortalJournal{m: &mortal{}}
		cat := enginetest.In(dir, wire.Catalog{Check: check, Entries: []wire.Entry{
			command("sh -c 'echo y >>$/f; echo y >>$/listed'", `"affects":`+affects),
			file("$/f", `"mode":"0644"`), file("$/listed", `"mode":"0644"`), file("$/g", `"mode":"0644","content":"x"`),
		}})
		if !check {
			cat.Lock = &wire.Lock{Run: "r"}
		}
		results, _ := enginetest.Run(t, e, dir, cat)
		return results
	}
	grades := func(results []wire.Result) (all []modules.Grade) {
		for _, r := range results {
			all = append(all, r.Grade)
		}
		return all
	}
	listed, _ := json.Marshal([]string{filepath.Join(dir, "listed")})
	before := []modules.Grade{modules.Likely, modules.Likely, modules.Unknown, modules.Likely}
	require.Equal(t, before, grades(run(true, string(listed))))
	real := run(false, string(listed))
	require.Equal(t, []modules.Note{{Level: "warning", Text: "the action changed " + filepath.Join(dir, "f") + `, but the property "affects" does not list this path: add it; until then, a check run takes all later predictions for unknown`}}, real[0].Messages)
	require.Equal(t, []modules.Grade{modules.Likely, modules.Unknown, modules.Unknown, modules.Unknown}, grades(run(true, string(listed))))
	both, _ := json.Marshal([]string{filepath.Join(dir, "listed"), filepath.Join(dir, "f")})
	require.Equal(t, []modules.Grade{modules.Likely, modules.Unknown, modules.Unknown, modules.Likely}, grades(run(true, string(both))))
	require.Empty(t, run(false, string(both))[0].Messages)
}
