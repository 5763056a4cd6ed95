package engine_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestUndoThatIsKilled continues a killed undo: the state is as before the run, and each refresh happens once.
func TestUndoThatIsKilled(t *testing.T) {
	for dies := 1; dies <= 3; dies++ {
		for _, after := range []bool{false, true} {
			u := newUndoer(t)
			u.write("f", "old")
			u.write("g", "old")
			u.apply("1", text("$/f", "new"), text("$/g", "new"), enginetest.With(enginetest.Command("cat $/f >>$/log", `"refresh_only":true`), func(e *wire.Entry) { e.Subscribe = []int{0, 1} }))
			require.NoError(t, os.Remove(u.at("log")))
			journal := &mortalJournal{m: &mortal{}}
			undo := func(id string, m *mortal) {
				defer func() { _ = recover() }()
				e := u.engine()
				e.Refreshes = journal
				if m != nil {
					e.Host.Files.FileWriter = dyingFiles{e.Host.Files.FileWriter, m}
				}
				cat := wire.Catalog{Lock: &wire.Lock{Run: id}, Undo: &wire.Undo{Run: "1"}}
				require.NoError(t, e.TakeBack(&cat))
				enginetest.Run(t, e, u.dir, cat)
			}
			undo("2", &mortal{dies: dies, after: after})
			undo("3", nil)
			undo("4", nil)
			state := textsOf(t, u)
			require.Equal(t, "old old old", state, "dies %d after %v", dies, after)
		}
	}
}

func textsOf(t *testing.T, u *undoer) string {
	all := ""
	for _, name := range []string{"f", "g", "log"} {
		text, err := os.ReadFile(u.at(name))
		require.NoError(t, err, name)
		all += " " + string(text)
	}
	return all[1:]
}
