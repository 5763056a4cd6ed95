//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetKnownCommands compares the tree of a host before and after commands whose effects the type exec knows. It first
// removes paths that the commands create.
func TestFleetKnownCommands(t *testing.T) {
	f := startServiceHost(t)
	const host = "s001"
	for command, affects := range map[string][]string{
		"systemctl daemon-reload": {"/run/systemd"},
		"systemctl reset-failed":  {"/run/systemd"},
		"visudo -c":               nil,
		"visudo -cf /etc/sudoers": nil,
		"sshd -t":                 nil,
		"ldconfig":                {"/etc/ld.so.cache", "/var/cache/ldconfig"},
	} {
		t.Run(command, func(t *testing.T) {
			f.sh(host, "rm -rf /var/cache/ldconfig/*; mkdir -p /run/sshd")
			was := f.sh(host, wholeTree)
			f.sh(host, "PATH=$PATH:/usr/sbin:/sbin; "+command)
			for _, line := range otherLines(was, f.sh(host, wholeTree)) {
				changed := strings.Fields(line)[1]
				known := strings.HasPrefix(changed, "/run/systemd/journal") || strings.HasPrefix(changed, "/run/log/journal")
				for _, at := range affects {
					known = known || changed == at || strings.HasPrefix(changed, at+"/")
				}
				require.True(t, known, "%s has changed %s", command, line)
			}
		})
	}
}
