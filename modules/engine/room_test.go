package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestRoomIsCounted predicts files. Each fits on the disk alone, but not all together. The first file that does not fit
// after the others is uncertain, and so is every later file. Without a file to write, no prediction is uncertain.
func TestRoomIsCounted(t *testing.T) {
	dir := t.TempDir()
	one := `"content":"` + strings.Repeat("x", 20<<10) + `","mode":"0644"`
	cat := wire.Catalog{Check: true, Entries: []wire.Entry{
		file("$/a", one), file("$/b", one), file("$/c", `"ensure":"absent"`), file("$/d", `"content":"","mode":"0644"`),
	}}
	results := play(t, dir, cat, func(e *engine.Engine) {
		e.Host.Files.Room = func(string) (in uint64, free int64, ok bool) { return 7, 100 << 10, true }
	})
	require.Equal(t, "changed changed? stable changed?", brief(results))
	require.Equal(t, []modules.Note{{Level: "warning", Text: "only 100 KiB are free in the file system of " + dir + ", and the run needs up to 104 KiB there"}}, results[1].Messages)
}
