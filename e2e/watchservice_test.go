//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetWatchService runs a watch under a real systemd, as the unit of docs/guide/watch.md has it: it has
// started when the plays are over, says what it is at, is started again when it does not live any more,
// and ends when it is told to.
func TestFleetWatchService(t *testing.T) {
	f := startServiceHost(t)
	page, err := os.ReadFile("../docs/guide/watch.md")
	require.NoError(t, err)
	unit := regexp.MustCompile("(?s)```\n(\\[Unit\\]\n.*?)```\n").FindSubmatch(page)
	require.NotNil(t, unit, "docs/guide/watch.md has no unit")
	text := strings.NewReplacer("User=ccm-push\n", "", "WatchdogSec=60", "WatchdogSec=2", "RestartSec=10", "RestartSec=0",
		"ccm-push watch ", "ccm-push watch --module-dir /usr/lib/e2e-modules ").Replace(string(unit[1]))
	require.Contains(t, text, "WatchdogSec=2")
	f.send("s001", programPath(t, "ccm-push"), "/usr/bin/ccm-push")
	modules, err := filepath.Glob(filepath.Join(moduleDir(t), "*"))
	require.NoError(t, err)
	f.sh("s001", "mkdir -p /usr/lib/e2e-modules")
	for _, path := range modules {
		f.send("s001", path, "/usr/lib/e2e-modules/"+filepath.Base(path))
	}
	t.Cleanup(func() {
		f.sh("s001", "systemctl stop ccm-push-watch; rm -rf /etc/ccm-push /etc/systemd/system/ccm-push-watch.service /usr/bin/ccm-push /usr/lib/e2e-modules /etc/e2e; systemctl daemon-reload; systemctl reset-failed; :")
	})
	for path, text := range map[string]string{
		"/etc/systemd/system/ccm-push-watch.service": text,
		"/etc/ccm-push/hosts.yaml":                   "all: {hosts: {here: {connect: {connection: local}}}}\n",
		"/etc/ccm-push/site.yaml":                    "watch: {settle: 0}\nccm: {resources: [file: [/etc/e2e: {content: \"hello\\n\", owner: root, group: root, mode: \"0644\"}]]}\n",
	} {
		f.sh("s001", "mkdir -p $(dirname "+path+"); cat >"+path+" <<'E2E'\n"+text+"E2E")
	}
	const status = "systemctl show -P StatusText ccm-push-watch"
	f.sh("s001", "systemctl daemon-reload; systemctl start ccm-push-watch || { journalctl -u ccm-push-watch; exit 1; }")
	require.Equal(t, "hello\n", f.sh("s001", "cat /etc/e2e"), "the plays are over when it has started")
	f.awaits("s001", status+" | grep -q '^1 of 1 hosts watched; resources drifted: 0, '")
	f.sh("s001", "rm /etc/e2e")
	f.awaits("s001", status+" | grep -q 'resources drifted: 1, '")

	main := f.sh("s001", "systemctl show -P MainPID ccm-push-watch")
	const alive = "systemctl show -P WatchdogTimestampMonotonic ccm-push-watch"
	f.awaits("s001", "test $("+alive+") -gt "+strings.TrimSpace(f.sh("s001", alive)))
	f.sh("s001", "kill -STOP "+main)
	f.awaits("s001", "systemctl show -P MainPID ccm-push-watch | grep -qvx -e 0 -e "+strings.TrimSpace(main)+" && systemctl is-active ccm-push-watch")
	require.Equal(t, "hello\n", f.sh("s001", "cat /etc/e2e"), "another one has been started, which applies its plays")

	f.sh("s001", "systemctl stop ccm-push-watch")
	require.Equal(t, "success\n", f.sh("s001", "systemctl show -P Result ccm-push-watch"))
	require.Equal(t, "0\n", f.sh("s001", "pgrep -fc '^[.]/[0-9a-f]* serve ' || :"))
}
