package mount

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

func TestEdit(t *testing.T) {
	data := Mount{Device: "/dev/sdb1", Fstype: "ext4", Options: []string{"noatime", "nofail"}, Pass: 2}
	const line = "/dev/sdb1 /data ext4 noatime,nofail 0 2\n"
	for _, test := range []struct {
		name   string
		mount  Mount
		have   string
		want   string
		action string
	}{
		{"new", data, "# ours\nproc /proc proc defaults 0 0\n", "# ours\nproc /proc proc defaults 0 0\n" + line, "edited fstab"},
		{"there, in other columns", data, "/dev/sdb1\t/data\text4\tnoatime,nofail 0 2\n", "/dev/sdb1\t/data\text4\tnoatime,nofail 0 2\n", ""},
		{"there, without the last numbers", Mount{Device: "tmpfs", Fstype: "tmpfs"}, "tmpfs /data tmpfs defaults\n", "tmpfs /data tmpfs defaults\n", ""},
		{"something else", data, "/dev/sdc1 /data xfs defaults 0 0\n/dev/sdd1 /more xfs defaults 0 0\n", line + "/dev/sdd1 /more xfs defaults 0 0\n", "edited fstab"},
		{"there twice", data, line + "#\n" + line, line + "#\n", "edited fstab"},
		{"commented out", data, "#" + line, "#" + line + line, "edited fstab"},
		{"with a slash at its end", data, "/dev/sdb1 /data/ ext4 noatime,nofail 0 2\n", line, "edited fstab"},
		{"with a blank", Mount{Name: "/my data", Device: "//server/a b", Fstype: "cifs"}, "", `//server/a\040b /my\040data cifs defaults 0 0` + "\n", "edited fstab"},
		{"absent", Mount{Ensure: absent}, "a /data b c\n" + line + "x /y z defaults\n", "x /y z defaults\n", "edited fstab"},
		{"absent, and not there", Mount{Ensure: absent}, "# /data\n", "# /data\n", ""},
		{"unmounted", Mount{Ensure: unmounted}, line, line, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := test.mount
			if m.Name == "" {
				m.Name = "/data"
			}
			require.NoError(t, m.Validate())
			text := edit.Parse(test.have)
			done, err := m.edit(text)
			require.NoError(t, err)
			require.Equal(t, test.want, text.String())
			require.Equal(t, test.action, done.Action)
			done, err = m.edit(text)
			require.NoError(t, err)
			require.Equal(t, edit.Done{}, done)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Mount]{
		{Name: "a device", Of: Mount{Name: "/data", Device: "/dev/sdb1", Fstype: "ext4"}},
		{Name: "absent", Of: Mount{Name: "/data", Ensure: absent}},
		{Name: "no device", Of: Mount{Name: "/data", Ensure: mounted}, Err: "device: \"device\" cannot be empty\nfstype: \"fstype\" cannot be empty"},
		{Name: "relative", Of: Mount{Name: "data", Ensure: absent}, Err: "name: file path must be absolute (write a path that begins with /)"},
		{Name: "the root", Of: Mount{Name: "/", Ensure: unmounted}, Err: "name: the root directory cannot be unmounted"},
		{Name: "two options", Of: Mount{Name: "/data", Ensure: absent, Options: []string{"ro,nosuid"}}, Err: `options[0]: "ro,nosuid" is not one option`},
		{Name: "dump", Of: Mount{Name: "/data", Ensure: absent, Dump: 2}, Err: `dump: "dump" must be 0 or 1, not 2`},
		{Name: "an option for a device", Of: Mount{Name: "/data", Device: "--bind", Fstype: "tmpfs"}, Err: `device: "--bind" begins with a dash, so a program would take it for an option`},
		{Name: "a type that is a path", Of: Mount{Name: "/data", Device: "/dev/sdb1", Fstype: "../../tmp/x"}, Err: `fstype: "../../tmp/x" is not the name of a file system, such as ext4`},
		{Name: "an option with a carriage return", Of: Mount{Name: "/data", Ensure: absent, Options: []string{"ro\rx"}}, Err: `options[0]: "ro\rx" is not one option`},
		{Name: "pass", Of: Mount{Name: "/data", Ensure: absent, Pass: 10}, Err: `pass: "pass" must be from 0 to 9, not 10`},
	})
}

// TestConverges tests fstab alone; tests on real hosts mount.
func TestConverges(t *testing.T) {
	fstab := modtest.Node{Path: "fstab", Text: "# ours\nproc /proc proc defaults 0 0\ntmpfs /e2e/x tmpfs ro 0 0\n"}
	change := func(have, want string) []modules.Change {
		return []modules.Change{{Property: "fstab", Have: have, Want: want}}
	}
	modtest.Converges(t, Type(), []modtest.Fixture{
		{
			Name: "a line", Tree: []modtest.Node{fstab}, Properties: `{"name":"/e2e/none","fstab":"$ROOT/fstab","ensure":"present","device":"tmpfs","fstype":"tmpfs","options":["size=1m"]}`,
			Action: "edited fstab", Changes: change(absent, "tmpfs /e2e/none tmpfs size=1m 0 0"),
		},
		{
			Name: "another line", Tree: []modtest.Node{fstab}, Properties: `{"name":"/e2e/x","fstab":"$ROOT/fstab","ensure":"present","device":"tmpfs","fstype":"tmpfs"}`,
			Action: "edited fstab", Changes: change("tmpfs /e2e/x tmpfs ro 0 0", "tmpfs /e2e/x tmpfs defaults 0 0"),
		},
		{
			Name: "no line", Tree: []modtest.Node{fstab}, Properties: `{"name":"/e2e/x","fstab":"$ROOT/fstab","ensure":"absent"}`,
			Action: "edited fstab", Changes: change("tmpfs /e2e/x tmpfs ro 0 0", absent),
		},
		{Name: "as it shall be", Tree: []modtest.Node{fstab}, Properties: `{"name":"/e2e/x","fstab":"$ROOT/fstab","ensure":"present","device":"tmpfs","fstype":"tmpfs","options":["ro"]}`},
		{Name: "not mounted", Tree: []modtest.Node{fstab}, Properties: `{"name":"/e2e/x","fstab":"$ROOT/fstab","ensure":"unmounted"}`},
		{
			Name: "no fstab", Properties: `{"name":"/e2e/x","fstab":"$ROOT/fstab","ensure":"present","device":"tmpfs","fstype":"tmpfs"}`,
			Action: "edited fstab", Changes: change(absent, "tmpfs /e2e/x tmpfs defaults 0 0"),
		},
	}...)
}

// tells is a host with the mounts of a test.
type tells struct {
	modules.FileReader
	mounts string
}

func (t tells) Open(name string) (io.ReadCloser, error) {
	if name == mountinfo.File {
		return io.NopCloser(strings.NewReader(t.mounts)), nil
	}
	return t.FileReader.Open(name)
}

func TestPlans(t *testing.T) {
	const is = "36 35 0:50 / /data rw,nosuid,relatime shared:1 - tmpfs tmpfs rw,size=16384k\n"
	for _, test := range []struct {
		name   string
		mount  Mount
		mounts string
		action string // or the error
		does   string // and with which options
		fails  bool
	}{
		{"mounted", Mount{Device: "tmpfs", Fstype: "tmpfs", Options: []string{"nofail", "size=1m", "x-a=b"}}, "", "edited fstab and mounted it", "mount size=1m", false},
		{"of a device", Mount{Device: "/dev/sdb1", Fstype: "ext4"}, "", "edited fstab and mounted it", "mount defaults", true},
		{"mounted already", Mount{Device: "tmpfs", Fstype: "tmpfs", Options: []string{"nosuid"}}, is, "edited fstab", "", false},
		{"with another option", Mount{Device: "tmpfs", Fstype: "tmpfs", Options: []string{"noexec"}}, is, "edited fstab and remounted it", "remount remount,noexec,suid", true},
		{"with more options than it is to have", Mount{Device: "tmpfs", Fstype: "tmpfs"}, is, "edited fstab and remounted it", "remount remount,suid", true},
		{"with options that others imply", Mount{Device: "tmpfs", Fstype: "tmpfs", Options: []string{"user"}}, is, "edited fstab", "", false},
		{"with another size", Mount{Device: "tmpfs", Fstype: "tmpfs", Options: []string{"size=8m", "nosuid"}}, is, "edited fstab and remounted it", "remount remount,size=8m,nosuid", true},
		{"with the same size", Mount{Device: "tmpfs", Fstype: "tmpfs", Options: []string{"size=16m", "nosuid"}}, is, "edited fstab", "", false},
		{"something else", Mount{Device: "/dev/sdb1", Fstype: "ext4"}, is, "tmpfs of type tmpfs is mounted at /data; unmount it first (ensure: unmounted)", "", false},
		{"another device", Mount{Device: "/dev/null", Fstype: "ext4"}, strings.ReplaceAll(is, "tmpfs tmpfs", "ext4 /dev/zero"), "/dev/zero of type ext4 is mounted at /data; unmount it first (ensure: unmounted)", "", false},
		{"unmounted", Mount{Ensure: unmounted}, is, "unmounted it", "unmount ", true},
		{"not mounted", Mount{Ensure: unmounted}, "", "", "", false},
		{"absent", Mount{Ensure: absent}, is, "unmounted it", "unmount ", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := test.mount
			if m.Name = "/data"; m.Ensure == "" {
				m.Ensure = mounted
			}
			m.Fstab = t.TempDir() + "/fstab"
			h := modules.ReadOnly(modtest.Host())
			h.Files.FileReader = tells{h.Files.FileReader, test.mounts}
			want := test.action
			if test.does != "" && os.Geteuid() != 0 {
				want = `only root may mount and unmount; use "become"`
			}
			plan, err := m.Check(t.Context(), h)
			if err != nil {
				require.EqualError(t, err, want)
				return
			}
			require.Equal(t, want, plan.Action)
			require.Equal(t, test.fails, plan.MayFail)
			if plan.Pending() {
				do := plan.Steps.(steps)
				does := map[deed]string{mountIt: "mount ", remountIt: "remount ", unmountIt: "unmount "}[do.do]
				require.Equal(t, test.does, does+do.options)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "fstab", Text: "tmpfs /data tmpfs size=16m\n"}})
	h := modules.ReadOnly(modtest.Host())
	m := &Mount{Name: "/data", Fstab: root + "/fstab", Ensure: absent}
	for mounts, want := range map[string]string{
		"": `{"ensure":"present","name":"/data","fstab":"tmpfs /data tmpfs size=16m"}`,
		"36 35 0:50 / /data rw,nosuid - tmpfs tmpfs size=16384k\n": `{"ensure":"mounted","name":"/data","device":"tmpfs","fstype":"tmpfs","options":["rw","nosuid","size=16384k"],"fstab":"tmpfs /data tmpfs size=16m"}`,
	} {
		h.Files.FileReader = tells{modtest.Host().Files.FileReader, mounts}
		modtest.Describes(t, h, m, want)
	}
	sources, err := m.Watch(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, modules.Sources{Paths: []string{root + "/fstab"}, Mounts: true}, sources)
}
