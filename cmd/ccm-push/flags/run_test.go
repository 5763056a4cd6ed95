package flags

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAffordable splits the open files of this process between hosts in progress and kept connections.
func TestAffordable(t *testing.T) {
	room := openFiles() - reservedFiles
	for _, test := range []struct {
		name        string
		forks, keep int
		files, kept int
		warns       bool
	}{
		{"nobody says", 0, 256, room - 256, 256, false},
		{"keep none", 0, 0, room, -1, false},
		{"keep more than there are", 0, 1 << 21, room / 2, room - room/2, false},
		{"some forks", 10, 256, room - 256, 256, false},
		{"nearly all", room - 1, 256, room - 1, 1, false},
		{"too many forks", 1 << 21, 256, room, -1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			warned := false
			files, kept := (&Pace{Forks: test.forks, Keep: test.keep}).Affordable(func(string) { warned = true })
			require.Equal(t, test.kept, kept)
			require.Equal(t, test.files, files)
			require.Equal(t, test.warns, warned)
		})
	}
}
