package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKillUserProcesses follows the precedence of logind.conf(5).
func TestKillUserProcesses(t *testing.T) {
	const yes, no = "[Login]\nKillUserProcesses=yes\n", "[Login]\n KillUserProcesses = no\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"nothing is said", nil, false},
		{"commented out", map[string]string{"etc/systemd/logind.conf": "#KillUserProcesses=yes\n"}, false},
		{"yes", map[string]string{"etc/systemd/logind.conf": yes}, true},
		{"by the distribution", map[string]string{"usr/lib/systemd/logind.conf": yes}, true},
		{"which /etc hides", map[string]string{"usr/lib/systemd/logind.conf": yes, "etc/systemd/logind.conf": "[Login]\n"}, false},
		{"in a drop-in", map[string]string{"etc/systemd/logind.conf": no, "usr/lib/systemd/logind.conf.d/10.conf": yes}, true},
		{"the last name counts", map[string]string{"etc/systemd/logind.conf.d/10.conf": yes, "usr/lib/systemd/logind.conf.d/20.conf": no}, false},
		{"of one name /etc", map[string]string{"etc/systemd/logind.conf.d/10.conf": no, "run/systemd/logind.conf.d/10.conf": yes}, false},
		{"the user lingers", map[string]string{"etc/systemd/logind.conf": yes, "var/lib/systemd/linger/ann": ""}, false},
		{"another one does", map[string]string{"etc/systemd/logind.conf": yes, "var/lib/systemd/linger/bob": ""}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range test.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
			}
			require.Equal(t, test.want, killsUserProcesses(root, "ann"))
		})
	}
}
