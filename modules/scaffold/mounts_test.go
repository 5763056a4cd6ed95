package scaffold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

const someMounts = `22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
36 35 98:0 /mnt1 /srv/with\040blank\134and\011more rw,noatime master:1 - ext3 /dev/root rw,errors=continue
broken
1 2 3 4 /half\04
`

func TestParseMounts(t *testing.T) {
	require.Equal(t, map[string]bool{"/sys": true, "/srv/with blank\\and\tmore": true, `/half\04`: true}, parseMounts(someMounts))
}

func TestMountsOfThisHost(t *testing.T) {
	var m mounts
	require.False(t, m.has(modtest.Host().Files, t.TempDir()))
}

func FuzzParseMounts(f *testing.F) {
	f.Add(someMounts)
	f.Add(`1 2 3 4 \400\777\0`)
	f.Fuzz(func(t *testing.T, text string) {
		require.LessOrEqual(t, len(parseMounts(text)), strings.Count(text, "\n")+1)
	})
}
