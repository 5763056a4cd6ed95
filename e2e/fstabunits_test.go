//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetUnitsOverFstab has units of a real systemd for the same path as a line of fstab: the resource warns if, and
// only if, systemd prefers the unit.
func TestFleetUnitsOverFstab(t *testing.T) {
	f := startServiceHost(t)
	const unit = `e2e-my\x2ddata.mount`
	clean := `rm -rf /etc/systemd/system/e2e-my* /usr/local/lib/systemd/system/e2e-my* /etc/e2e-fstab; sed -i /e2e/d /etc/fstab; systemctl daemon-reload`
	t.Cleanup(func() { f.sh("s001", clean) })
	write(t, f.path("units.yaml"), "- hosts: s001\n  ccm:\n    resources:\n      - mount: [/e2e/my-data: {ensure: present, device: tmpfs, fstype: tmpfs, options: [size=1m]}]\n")
	f.push("-i", "root.yaml", "units.yaml").requireCode(t, 0)
	file := `printf '[Mount]\nWhat=tmpfs\nWhere=/e2e/my-data\nType=tmpfs\nOptions=size=2m\n' >`
	for _, test := range []struct{ name, make, want string }{
		{"no unit", "true", ""},
		{"a unit file", file + `'/etc/systemd/system/` + unit + `'`, "a boot follows /etc/systemd/system/" + unit},
		{"masked", `ln -s /dev/null '/etc/systemd/system/` + unit + `'`, "a boot ignores the line for /e2e/my-data in fstab"},
		{"a unit file that fstab overrides", "mkdir -p /usr/local/lib/systemd/system; " + file + `'/usr/local/lib/systemd/system/` + unit + `'`, ""},
		{"a drop-in", `mkdir '/etc/systemd/system/` + unit + `.d'; printf '[Mount]\nOptions=size=2m\n' >'/etc/systemd/system/` + unit + `.d/10.conf'`, unit + ".d/10.conf sets Options=size=2m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := f.in(t)
			f.sh("s001", `rm -rf /etc/systemd/system/e2e-my* /usr/local/lib/systemd/system/e2e-my*; `+test.make+`; systemctl daemon-reload`)
			shown := f.sh("s001", `systemctl show --property=FragmentPath,DropInPaths,Options '`+unit+`'`)
			generated := strings.Contains(shown, "FragmentPath=/run/systemd/generator/") && !strings.Contains(shown, "size=2m")
			require.Equal(t, test.want == "", generated, shown)
			r := f.push("-i", "root.yaml", "--check", "units.yaml")
			r.requireCode(t, 0)
			require.Equal(t, !generated, strings.Contains(r.stdout, "warning"), r.stdout)
			require.Contains(t, r.stdout, test.want)
		})
	}
}
