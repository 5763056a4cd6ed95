package merged_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/merged"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestUnread uses real files, some of which exist already.
func TestUnread(t *testing.T) {
	for _, test := range []struct{ at, have, want string }{
		{"/etc/sysctl.d/a.conf", "", ""},
		{"/etc/sysctl.d/a.conf", "/usr/lib/sysctl.d/a.conf", ""},
		{"/usr/lib/sysctl.d/a.conf", "/etc/sysctl.d/b.conf", ""},
		{"/usr/lib/sysctl.d/a.conf", "/etc/sysctl.d/a.conf", "a boot reads /etc/sysctl.d/a.conf in place of /usr/lib/sysctl.d/a.conf, which has the same name"},
		{"/usr/local/lib/systemd/system/a.service", "/run/systemd/system/a.service", "a boot reads /run/systemd/system/a.service in place of /usr/local/lib/systemd/system/a.service, which has the same name"},
		{"/usr/lib/systemd/system/a.service", "/etc/systemd/system/a.service -> /dev/null", "a boot reads /etc/systemd/system/a.service in place of /usr/lib/systemd/system/a.service, which has the same name"},
		{"/opt/x/etc/sysctl.d/a.conf", "", ""},
		{"/usr/lib/systemd/system/a.service", "/etc/systemd/system/a.service -> ../../../usr/lib/systemd/system/a.service", ""},
		{"/run/systemd/system/a.service.d/x.conf", "/etc/systemd/system/a.service.d/x.conf", "a boot reads /etc/systemd/system/a.service.d/x.conf in place of /run/systemd/system/a.service.d/x.conf, which has the same name"},
		{"/usr/lib/sysctl.d/a.conf", "/lib -> usr/lib", ""},
		{"/lib/sysctl.d/a.conf", "/lib -> usr/lib", ""},
		{"/etc/sysctl.d/a", "", "no program reads /etc/sysctl.d/a: names in /etc/sysctl.d end with .conf"},
		{"/etc/systemd/system/a.service.d/override", "", "no program reads /etc/systemd/system/a.service.d/override: names in /etc/systemd/system/a.service.d end with .conf"},
		{"/etc/systemd/journald.conf.d/size", "", "no program reads /etc/systemd/journald.conf.d/size: names in /etc/systemd/journald.conf.d end with .conf"},
		{"/etc/systemd/network/10-a", "", "no program reads /etc/systemd/network/10-a: names in /etc/systemd/network end with .network, .netdev or .link"},
		{"/etc/apt/apt.conf.d/a.cfg", "", "no program reads /etc/apt/apt.conf.d/a.cfg: names in /etc/apt/apt.conf.d have no dot, or end with .conf"},
		{"/etc/apt/apt.conf.d/99a", "", ""},
		{"/etc/apt/sources.list.d/a.sources.disabled", "", ""},
		{"/etc/udev/rules.d/README", "", ""},
		{"/etc/cron.d/a.cron", "/usr/bin/dpkg", "cron does not read /etc/cron.d/a.cron: in /etc/cron.d it reads only names of letters, digits, '_' and '-'"},
		{"/etc/cron.daily/a_b-1", "/usr/bin/dpkg", ""},
		{"/etc/cron.d/a.cron", "/usr/bin/rpm", ""},
		{"/etc/motd", "", ""},
	} {
		root := modtest.Root(t)
		if have, target, _ := strings.Cut(test.have, " -> "); have != "" {
			require.NoError(t, os.MkdirAll(filepath.Dir(root+have), 0o755))
			if target == "" {
				require.NoError(t, os.WriteFile(root+have, nil, 0o644))
			} else {
				require.NoError(t, os.Symlink(target, root+have))
			}
		}
		if _, err := os.Lstat(root + "/lib"); err == nil {
			require.NoError(t, os.MkdirAll(root+"/usr/lib/sysctl.d", 0o755))
			require.NoError(t, os.WriteFile(root+"/usr/lib/sysctl.d/a.conf", nil, 0o644))
		}
		require.Equal(t, test.want, strings.ReplaceAll(merged.Unread(modtest.Host().Files, root+test.at), root, ""), "%s with %s", test.at, test.have)
	}
}
