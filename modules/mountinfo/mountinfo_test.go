package mountinfo

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	const text = `22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
36 35 98:0 /mnt1 /srv/with\040blank rw,noatime master:1 - ext3 /dev/a\134b rw,errors=continue

broken
1 2 3 4 /half\04
`
	require.Equal(t, []Mount{
		{Point: "/sys", Options: []string{"rw", "nosuid", "rw"}, Type: "sysfs", Source: "sysfs"},
		{Point: "/srv/with blank", Options: []string{"rw", "noatime", "rw", "errors=continue"}, Type: "ext3", Source: `/dev/a\b`},
		{Point: `/half\04`},
	}, slices.Collect(Parse(text)))
}
