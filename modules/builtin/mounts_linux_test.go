package builtin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestFilesThatAreMountPoints mounts something at files that types replace, as container engines do with
// /etc/hosts: each check refuses, since the kernel would. Flags of chattr(1) are refused in the same way.
func TestFilesThatAreMountPoints(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	etc := filepath.Join(t.TempDir(), "etc")
	out, err := exec.CommandContext(t.Context(), "cp", "-a", "/etc", etc).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, syscall.Mount(etc, "/etc", "", syscall.MS_BIND, ""))
	require.NoError(t, os.MkdirAll("/etc/sysctl.d", 0o755))
	for _, test := range []struct{ typ, properties, file string }{
		{"file", `{"name":"/etc/hosts","content":"x"}`, "/etc/hosts"},
		{"file", `{"name":"/etc/hosts","ensure":"absent"}`, "/etc/hosts"},
		{"line", `{"name":"/etc/hosts","line":"192.0.2.9 db"}`, "/etc/hosts"},
		{"replace", `{"name":"/etc/replaced","regexp":"x","replace":"y"}`, "/etc/replaced"},
		{"ini", `{"name":"i","path":"/etc/hosts","section":"a","option":"b","value":"c"}`, "/etc/hosts"},
		{"link", `{"name":"/etc/hosts","target":"hostname","force":true}`, "/etc/hosts"},
		{"hostname", `{"name":"other"}`, "/etc/hostname"},
		{"timezone", `{"name":"UTC"}`, "/etc/localtime"},
		{"mount", `{"name":"/nonexistent","ensure":"present","device":"tmpfs","fstype":"tmpfs"}`, "/etc/fstab"},
		{"sysctl", `{"name":"kernel.ostype","value":"x","runtime":false}`, "/etc/sysctl.d/90-ccm-push.conf"},
		{"known_host", `{"name":"db","keys":["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"],"path":"/etc/hosts"}`, "/etc/hosts"},
		{"authorized_key", `{"name":"ann","user":"root","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq","path":"/etc/keys"}`, "/etc/keys"},
		{"user", `{"name":"nosuchuser"}`, "/etc/passwd"},
		{"group", `{"name":"nosuchgroup"}`, "/etc/gshadow"},
	} {
		t.Run(test.typ, func(t *testing.T) {
			if info, err := os.Lstat(test.file); err != nil || !info.Mode().IsRegular() {
				require.NoError(t, os.RemoveAll(test.file))
				require.NoError(t, os.WriteFile(test.file, []byte("x\n"), 0o644))
			}
			check := func() error {
				res := modtest.Decode(t, builtin.Types(), test.typ, test.properties, "")
				_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
				return err
			}
			modtest.Flag(t, "+i", test.file)
			require.ErrorIs(t, check(), modules.ErrKernelRefuses)
			out, err := exec.CommandContext(t.Context(), "chattr", "-i", test.file).CombinedOutput()
			require.NoError(t, err, string(out))
			modtest.Bind(t, test.file, test.file)
			require.ErrorContains(t, check(), test.file+" is a mount point; unmount it first")
		})
	}
}
