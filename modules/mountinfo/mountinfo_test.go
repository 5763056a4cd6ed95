package mountinfo

import (
	"fmt"
	"slices"
	"strings"
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
		{ID: 22, Parent: 28, Device: "0:20", Root: "/", Point: "/sys", Options: []string{"rw", "nosuid", "rw"}, OfType: []string{"rw"}, Type: "sysfs", Source: "sysfs"},
		{ID: 36, Parent: 35, Device: "98:0", Root: "/mnt1", Point: "/srv/with blank", Options: []string{"rw", "noatime", "rw", "errors=continue"}, OfType: []string{"rw", "errors=continue"}, Type: "ext3", Source: `/dev/a\b`},
		{ID: 1, Parent: 2, Device: "3", Root: "4", Point: `/half\04`},
	}, slices.Collect(Parse(text)))
}

func FuzzParse(f *testing.F) {
	f.Add("22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n1 2 3 4 /half\\04\n")
	f.Add(`1 2 3 4 \400\777\0`)
	f.Fuzz(func(t *testing.T, text string) {
		require.LessOrEqual(t, len(slices.Collect(Parse(text))), strings.Count(text, "\n")+1)
	})
}

func TestOn(t *testing.T) {
	const text = `20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 8:1 /srv/a /mnt/b rw - ext4 /dev/sda1 rw
22 21 0:50 / /mnt/b/x rw - tmpfs tmpfs rw
23 20 0:51 / /srv/c ro - tmpfs tmpfs rw
24 23 0:52 / /srv/c/below rw - tmpfs tmpfs rw
`
	table := NewTable(text)
	for _, test := range []struct {
		mount int
		name  string
		want  []string
	}{
		{20, "/srv", []string{"/mnt/b/x=a/x", "/srv/c=c", "/srv/c/below=c/below"}},
		{20, "/srv/a/x", []string{"/mnt/b/x="}},
		{20, "/mnt/b", []string{"/mnt/b=", "/mnt/b/x=x"}},
		{20, "/srv/c", []string{"/srv/c=", "/srv/c/below=below"}},
		{20, "/srv/a/xx", nil},
		{21, "/mnt/b/x", []string{"/mnt/b/x="}},
		{23, "/srv/c/below", []string{"/srv/c/below="}},
		{99, "/srv", nil}, // from a list without the mount of the root
	} {
		var is []string
		place, ok := table.Place(test.mount, test.name)
		require.True(t, ok)
		for _, f := range table.On(place) {
			is = append(is, f.Point+"="+f.Below)
		}
		require.Equal(t, test.want, is, "%d %s", test.mount, test.name)
	}
	m, ok := table.At("/srv/c")
	require.True(t, ok)
	require.Equal(t, 23, m.ID)
}

func TestBinds(t *testing.T) {
	const text = `20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 8:1 /srv/a /mnt/b rw - ext4 /dev/sda1 rw
22 21 0:50 / /mnt/b/x rw - tmpfs tmpfs rw
23 20 8:2 /@home /home rw - btrfs /dev/sda2 rw
24 20 8:2 /@home/ann/www /srv/www rw - btrfs /dev/sda2 rw
25 20 8:1 /home/hidden /mnt/c rw - ext4 /dev/sda1 rw
26 20 0:51 /hosts /etc/hosts rw - tmpfs tmpfs rw
27 20 0:51 /hosts /srv/hosts rw - tmpfs tmpfs rw
`
	table := NewTable(text)
	require.Equal(t, map[string]string{
		"/": "/", "/mnt/b": "/srv/a", "/mnt/b/x": "/mnt/b/x", "/home": "/home", "/srv/www": "/home/ann/www", "/mnt/c": "/mnt/c",
		"/etc/hosts": "/etc/hosts", "/srv/hosts": "/etc/hosts",
	}, table.Binds())
	require.Empty(t, table[:1].Binds())
}

// BenchmarkTable looks for the mount points of one path on a host with many containers.
func BenchmarkTable(b *testing.B) {
	var text strings.Builder
	text.WriteString("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "%d 20 0:%d / /var/lib/c/%d rw - overlay overlay rw\n", i+100, i+100, i)
	}
	table := NewTable(text.String())
	b.Run("On", func(b *testing.B) {
		for b.Loop() {
			table.On(Place{"8:1", "/etc/hosts"})
		}
	})
	b.Run("Binds", func(b *testing.B) {
		for b.Loop() {
			table.Binds()
		}
	})
}
