//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetMergedFolders writes files into folders that a real host merges: the resource warns if, and only
// if, the programs of the host do not read the file.
func TestFleetMergedFolders(t *testing.T) {
	f := startServiceHost(t)
	clean := "rm -rf /etc/sysctl.d/90-e2e* /usr/lib/sysctl.d/90-e2e* /etc/cron.daily/e2e* /etc/systemd/system/e2e-* /usr/local/lib/systemd/system/e2e-*; systemctl daemon-reload"
	t.Cleanup(func() { f.sh("s001", clean) })
	f.sh("s001", clean+`; mkdir -p /etc/sysctl.d /usr/local/lib/systemd/system; echo kernel.panic=1 >/etc/sysctl.d/90-e2e.conf; printf '[Service]\nExecStart=/bin/true\n' >/etc/systemd/system/e2e-a.service`)
	for _, test := range []struct{ path, reads, want string }{
		{"/usr/lib/sysctl.d/90-e2e.conf", "systemd-analyze cat-config sysctl.d/90-e2e.conf", "a boot reads /etc/sysctl.d/90-e2e.conf in place of /usr/lib/sysctl.d/90-e2e.conf"},
		{"/usr/lib/sysctl.d/90-e2e-b.conf", "systemd-analyze cat-config sysctl.d/90-e2e-b.conf", ""},
		{"/usr/local/lib/systemd/system/e2e-a.service", "systemctl show --property=FragmentPath e2e-a", "a boot reads /etc/systemd/system/e2e-a.service in place of "},
		{"/usr/local/lib/systemd/system/e2e-b.service", "systemctl show --property=FragmentPath e2e-b", ""},
		{"/etc/cron.daily/e2e.sh", "run-parts --test /etc/cron.daily", "cron does not read /etc/cron.daily/e2e.sh"},
		{"/etc/cron.daily/e2e-sh", "run-parts --test /etc/cron.daily", ""},
	} {
		t.Run(test.path, func(t *testing.T) {
			f := f.in(t)
			write(t, f.path("merged.yaml"), fmt.Sprintf("- hosts: s001\n  ccm:\n    resources:\n      - file: [%s: {content: \"[Service]\\nExecStart=/bin/true\\n\", mode: \"0755\"}]\n", test.path))
			r := f.push("-i", "root.yaml", "merged.yaml")
			r.requireCode(t, 0)
			read := strings.Contains(f.sh("s001", "systemctl daemon-reload; "+test.reads), test.path)
			require.Equal(t, test.want == "", read, "the host reads it")
			require.Equal(t, !read, strings.Contains(r.stdout, "warning"), r.stdout)
			require.Contains(t, r.stdout, test.want)
		})
	}
}
