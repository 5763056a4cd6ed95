package fstab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/fstab"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestOverridden(t *testing.T) {
	for _, test := range []struct{ name, file, text, want string }{
		{"no unit", "etc/systemd/system/srv-other.mount", "[Mount]\n", ""},
		{"a unit file", `etc/systemd/system/srv-my\x2ddata.mount`, "[Mount]\n", `a boot follows /etc/systemd/system/srv-my\x2ddata.mount in place of the line for /srv/my-data in fstab; remove the unit file`},
		{"masked", `run/systemd/system/srv-my\x2ddata.mount`, "-> /dev/null", `a boot ignores the line for /srv/my-data in fstab, since /run/systemd/system/srv-my\x2ddata.mount masks the unit; systemctl unmask srv-my\x2ddata.mount removes it`},
		{"a unit file of a package, which fstab overrides", `usr/lib/systemd/system/srv-my\x2ddata.mount`, "[Mount]\n", ""},
		{"a drop-in", `usr/lib/systemd/system/srv-my\x2ddata.mount.d/10.conf`, "[Mount]\nOptions = ro\n", `/usr/lib/systemd/system/srv-my\x2ddata.mount.d/10.conf sets Options=ro for /srv/my-data, and overrides the line in fstab`},
		{"a drop-in about other settings", `etc/systemd/system/srv-my\x2ddata.mount.d/10.conf`, "[Mount]\nTimeoutSec=5\n", ""},
		{"a file that is not a drop-in", `etc/systemd/system/srv-my\x2ddata.mount.d/10`, "[Mount]\nOptions=ro\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			file := filepath.Join(root, test.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			if target, is := strings.CutPrefix(test.text, "-> "); is {
				require.NoError(t, os.Symlink(target, file))
			} else {
				require.NoError(t, os.WriteFile(file, []byte(test.text), 0o644))
			}
			require.Equal(t, test.want, fstab.Overridden(modtest.RootedHost(root, modtest.Host()).Files, "/srv/my-data", "mount"))
		})
	}
}

func TestUnitName(t *testing.T) {
	program, err := exec.LookPath("systemd-escape")
	for at, want := range map[string]string{
		"/": "-.mount", "/srv/my-data": `srv-my\x2ddata.mount`, "/srv//a b/": `srv-a\x20b.mount`, "/.hidden/ä_1:2.d": `\x2ehidden-\xc3\xa4_1:2.d.mount`,
	} {
		require.Equal(t, want, fstab.UnitName(at, "mount"))
		if err == nil {
			out, err := exec.Command(program, "--path", "--suffix=mount", at).Output()
			require.NoError(t, err)
			require.Equal(t, want+"\n", string(out))
		}
	}
}
