package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestUndoOfADamagedHistory undoes a run whose record is cut off at each place, or has another byte at each place:
// everything is restored, or the report names the missing parts. The controller knows which resources the run has
// changed.
func TestUndoOfADamagedHistory(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old\n")
	u.write("g", "a\nb\n")
	require.NoError(t, os.Mkdir(u.at("d"), 0o750))
	u.write("d/x", "old")
	was := modtest.State(t, u.dir)
	u.apply("1", text("$/f", "new"), lineOf("$/g", "B", `,"regexp":"^b"`), removed("$/d", `,"force":true`), text("$/h", "new"))
	changed := []string{"file#" + u.at("f"), "line#" + u.at("g"), "file#" + u.at("d"), "file#" + u.at("h")}
	log := filepath.Join(u.home, "history", "1.jsonl")
	whole, err := os.ReadFile(log)
	require.NoError(t, err)
	left := modtest.State(t, u.dir)

	try := func(what string, at int, damaged []byte) (reported bool) {
		if modtestDiffers(t, u.dir, left) {
			require.NoError(t, os.RemoveAll(u.at("d")))
			u.write("f", "new")
			require.NoError(t, os.Chmod(u.at("f"), left["f"].Mode))
			u.write("g", "a\nB\n")
			u.write("h", "new")
			require.NoError(t, os.Chmod(u.at("h"), left["h"].Mode))
			require.Equal(t, left, modtest.State(t, u.dir))
		}
		require.NoError(t, os.WriteFile(log, damaged, 0o600))
		e := u.engine()
		cat := wire.Catalog{Lock: &wire.Lock{Run: "undo1"}, Undo: &wire.Undo{Run: "1", Changed: changed}}
		if err := e.TakeBack(&cat); err != nil {
			return true
		}
		results, _ := enginetest.Run(t, e, u.dir, cat)
		for _, r := range results {
			reported = reported || r.Status == wire.Failed
		}
		if !reported {
			require.Equal(t, was, modtest.State(t, u.dir), "%s at byte %d of %q", what, at, log)
		}
		return reported
	}
	require.False(t, try("nothing", 0, whole))
	step := 1
	if testing.Short() {
		step = 37
	}
	for at := 0; at < len(whole); at += step {
		require.True(t, try("cut off", at, whole[:at]), "cut off at byte %d", at)
		flipped := []byte(string(whole))
		flipped[at] ^= 1 << (at % 8)
		require.True(t, try("flipped", at, flipped), "flipped at byte %d: %q", at, flipped[at])
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for i := range lines[:len(lines)-1] {
		require.True(t, try("without a line", i, []byte(strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), ""))), "without line %d", i+1)
	}
}

func modtestDiffers(t *testing.T, dir string, from map[string]modtest.Seen) bool {
	is := modtest.State(t, dir)
	if len(is) != len(from) {
		return true
	}
	for name, seen := range from {
		if is[name] != seen {
			return true
		}
	}
	return false
}

// TestUndoOfWhatIsNotKept names resources that the run has changed, of which the host keeps nothing.
func TestUndoOfWhatIsNotKept(t *testing.T) {
	u := newUndoer(t)
	u.apply("1", text("$/f", "new"))
	cat := wire.Catalog{Lock: &wire.Lock{Run: "undo1"}, Undo: &wire.Undo{Run: "1", Changed: []string{"file#" + u.at("f"), "file#" + u.at("g")}}}
	require.Equal(t, []string{
		"failed file#$/g: left unchanged: the run has changed it, but the record of that run does not contain it",
		"changed file#$/f: removed what the run had made",
	}, u.takeBack(cat))
}
